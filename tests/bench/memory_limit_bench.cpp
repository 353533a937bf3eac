// The smallest arena of a model, or the cheapest way under a limit:
//   memory_limit_bench [--limit BYTES] [--batch N] [--shape INPUT=NxCxHxW] [--portable]
//                      [--verbose] [--time RUNS] MODEL.onnx...
// Prints the arena of the whole ops, the arena of the patches, and how chains were cut; with --time
// the processor time of one inference of both plans on one thread, least of RUNS.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "converter/emit/emit_plan.hpp"
#include "converter/fold/fold_constants.hpp"
#include "converter/import/onnx/onnx_import.hpp"
#include "converter/pipeline.hpp"
#include "tenon/tenon.h"
#include "tests/support/convert_and_run.hpp"
#include "tests/unit/converter/split/measure_arena.hpp"

namespace tenon::converter {
namespace {

struct Settings {
  int64_t limit = 0;
  int64_t batch = 0;
  std::string input;  ///< whose shape is given
  std::vector<int64_t> shape;
  bool verbose = false;
  int runs = 0;
  MeasureOptions measure;
};

/// Storages alive at a step; of those that hand over their bytes there, one.
std::vector<const PlannedStorage*> LiveAt(const ArenaPlan& arena, int64_t step) {
  std::vector<const PlannedStorage*> live;
  for (const PlannedStorage& storage : arena.storages) {
    if (storage.first_step > step || step > storage.last_step) continue;
    const bool shared = std::any_of(live.begin(), live.end(), [&](const PlannedStorage* other) {
      return other->offset == storage.offset;
    });
    if (!shared && storage.bytes > 0) live.push_back(&storage);
  }
  return live;
}

void PrintLive(const Graph& graph, const ArenaPlan& arena) {
  int64_t most = 0;
  int64_t at = 0;
  const auto steps = static_cast<int64_t>(arena.steps.size());
  for (int64_t step = 0; step < steps; ++step) {
    int64_t live = 0;
    for (const PlannedStorage* storage : LiveAt(arena, step)) live += storage->bytes;
    if (live > most) at = step;
    most = std::max(most, live);
  }
  const Op& op = graph.op(arena.steps[static_cast<size_t>(at)]);
  std::printf("  most bytes live: %lld, at step %lld of %lld: %s (%s)\n",
              static_cast<long long>(most), static_cast<long long>(at),
              static_cast<long long>(steps), op.name.c_str(), op.kernel.c_str());
  for (const PlannedStorage* storage : LiveAt(arena, at)) {
    const char* name =
        storage->root != kNone ? graph.tensor(storage->root).name.c_str() : "(workspace)";
    std::printf("    %10lld  %5lld..%-5lld %s\n", static_cast<long long>(storage->bytes),
                static_cast<long long>(storage->first_step),
                static_cast<long long>(storage->last_step), name);
  }
}

double ProcessorMilliseconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

struct SessionCloser {
  void operator()(tenon_session* session) const { tenon_session_close(session); }
};

/// A plan that is loaded and can be run again and again.
class LoadedPlan {
 public:
  LoadedPlan(const Graph& graph, const Settings& settings) {
    const auto placed = PlaceGraph(graph, settings.measure);
    if (!placed.ok()) return;
    const auto bytes = EmitPlan(placed->graph, placed->locations, placed->arena, EmitOptions{});
    if (!bytes.ok()) return;
    file_ = std::make_unique<test::PlanBytes>(*bytes);
    size_t scratch_bytes = 0;
    size_t state_bytes = 0;
    tenon_error error{};
    if (tenon_plan_scratch_size(file_->data(), file_->size(), &scratch_bytes, &error) != TENON_OK ||
        tenon_plan_state_size(file_->data(), file_->size(), &state_bytes, &error) != TENON_OK) {
      return;
    }
    scratch_.resize(scratch_bytes / sizeof(std::max_align_t) + 1);
    state_.resize(state_bytes / sizeof(std::max_align_t) + 1);
    const tenon_backend* backend = tenon_backend_cpu();
    const tenon_backends backends{&backend, 1};
    tenon_plan* plan = nullptr;
    tenon_session* session = nullptr;
    if (tenon_plan_load(file_->data(), file_->size(), &backends, settings.measure.threads,
                        state_.data(), state_bytes, scratch_.data(), scratch_bytes, &plan,
                        &error) != TENON_OK ||
        tenon_session_open(plan, &session, &error) != TENON_OK) {
      std::printf("  %s\n", error.message);
      return;
    }
    session_.reset(session);
    const auto inputs = test::RandomInputs(graph, 1);
    for (size_t i = 0; i < inputs.size(); ++i) {
      std::memcpy(tenon_session_input(session, i), inputs[i].data(), inputs[i].size());
    }
    inputs_ = inputs;
  }

  /// Processor time of one inference; negative if it failed.
  double Run() {
    tenon_error error{};
    if (session_ == nullptr) return -1;
    for (size_t i = 0; i < inputs_.size(); ++i) {  // the last run may have written over them
      std::memcpy(tenon_session_input(session_.get(), i), inputs_[i].data(), inputs_[i].size());
    }
    const double begin = ProcessorMilliseconds();
    if (tenon_session_run(session_.get(), &error) != TENON_OK) return -1;
    return ProcessorMilliseconds() - begin;
  }

 private:
  std::unique_ptr<test::PlanBytes> file_;
  std::vector<std::max_align_t> scratch_;
  std::vector<std::max_align_t> state_;
  std::vector<std::vector<std::byte>> inputs_;
  std::unique_ptr<tenon_session, SessionCloser> session_;
};

/// Turn about, so that what else the machine does weighs on both.
void Time(const Graph& whole, const Graph& patches, const Settings& settings) {
  Settings fast = settings;
  fast.measure.most_workspace.reset();
  LoadedPlan first(whole, fast);
  LoadedPlan second(patches, settings);
  double before = 1e30;
  double after = 1e30;
  for (int run = 0; run < settings.runs; ++run) {
    before = std::min(before, first.Run());
    after = std::min(after, second.Run());
  }
  std::printf("  one inference: %.3f ms -> %.3f ms (%.3f)\n", before, after, after / before);
}

int Run(const char* path, Settings settings) {
  ImportOptions import;
  import.batch = settings.batch;
  if (!settings.input.empty()) import.shapes[settings.input] = settings.shape;
  Result<Graph> graph = ImportOnnx(path, import, FoldTensors);
  if (!graph.ok()) {
    std::printf("%s: %s\n", path, graph.error().message.c_str());
    return 1;
  }
  std::vector<PassReport> reports;
  if (Status status = Canonicalise(*graph, true, reports); !status.ok()) return 1;
  int64_t in = 0;
  int64_t out = 0;
  for (const Graph::Port& port : graph->inputs()) in += graph->tensor(port.tensor).ByteSize();
  for (const Graph::Port& port : graph->outputs()) out += graph->tensor(port.tensor).ByteSize();
  const Result<int64_t> whole = MeasureWith(settings.measure)(*graph);
  if (!whole.ok()) {
    std::printf("%s: %s\n", path, whole.error().message.c_str());
    return 1;
  }
  MemorySplitOptions options;
  Graph fitted = *graph;
  Result<MemoryFit> fit = FitMemory(fitted, settings.limit, options, MeasureWith(settings.measure));
  // Fast kernels first; then those that need no workspace.
  if (fit.ok() && fit->measured_bytes > settings.limit) {
    Settings lean = settings;
    lean.measure.most_workspace = 0;
    Graph other = *graph;
    Result<MemoryFit> lean_fit =
        FitMemory(other, settings.limit, options, MeasureWith(lean.measure));
    if (lean_fit.ok() && lean_fit->measured_bytes < fit->measured_bytes) {
      fit = std::move(lean_fit);
      fitted = std::move(other);
      settings.measure = lean.measure;
    }
  }
  if (!fit.ok()) {
    std::printf("%s: %s\n", path, fit.error().message.c_str());
    return 1;
  }
  std::printf(
      "%s: inputs %lld outputs %lld arena %lld -> %lld (%.3f), estimate %lld -> %lld, %d tries\n",
      path, static_cast<long long>(in), static_cast<long long>(out), static_cast<long long>(*whole),
      static_cast<long long>(fit->measured_bytes),
      static_cast<double>(fit->measured_bytes) / static_cast<double>(*whole),
      static_cast<long long>(fit->split.unsplit_peak),
      static_cast<long long>(fit->split.estimated_peak), fit->tries);
  for (const SplitChain& chain : fit->split.chains) {
    std::printf("  %lld ops %s .. %s: %s in %d (%s), peak %lld -> %lld, copies %lld, again %lld\n",
                static_cast<long long>(chain.ops), chain.first_op.c_str(), chain.last_op.c_str(),
                Name(chain.dimension), chain.patching.parts, Name(chain.patching.policy),
                static_cast<long long>(chain.peak_before), static_cast<long long>(chain.peak_after),
                static_cast<long long>(chain.copied_bytes),
                static_cast<long long>(chain.recomputed_work));
  }
  if (settings.runs > 0) Time(*graph, fitted, settings);
  if (settings.verbose) {
    const auto placed = PlaceGraph(fitted, settings.measure);
    if (placed.ok()) PrintLive(placed->graph, placed->arena);
  }
  return 0;
}

/// NAME=1x3x224x224
void ReadShape(const std::string& text, Settings& settings) {
  const size_t equals = text.find('=');
  settings.input = text.substr(0, equals);
  settings.shape.clear();
  for (size_t at = equals; at != std::string::npos; at = text.find('x', at + 1)) {
    settings.shape.push_back(std::strtoll(text.c_str() + at + 1, nullptr, 10));
  }
}

int Main(int argc, char** argv) {
  Settings settings;
  int failures = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--limit" && i + 1 < argc) {
      settings.limit = std::strtoll(argv[++i], nullptr, 10);
    } else if (argument == "--batch" && i + 1 < argc) {
      settings.batch = std::strtoll(argv[++i], nullptr, 10);
    } else if (argument == "--shape" && i + 1 < argc) {
      ReadShape(argv[++i], settings);
    } else if (argument == "--time" && i + 1 < argc) {
      settings.runs = std::atoi(argv[++i]);
    } else if (argument == "--portable") {
      settings.measure.portable = true;
    } else if (argument == "--verbose") {
      settings.verbose = true;
    } else {
      failures += Run(argv[i], settings);
    }
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tenon::converter

int main(int argc, char** argv) { return tenon::converter::Main(argc, argv); }
