// The smallest arena of a model, or the cheapest way under a limit:
//   memory_limit_bench [--limit BYTES] [--batch N] [--shape INPUT=NxCxHxW] [--portable]
//                      [--verbose] [--time RUNS [--within RATIO]] MODEL.onnx...
// Prints the arena of the whole ops, the arena of the patches, and how chains were cut; with --time
// the processor time of one inference of both plans on one thread, least of RUNS,
// and the smallest arena with which that is at most RATIO times as much.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "converter/driver/pipeline.hpp"
#include "converter/emit/emit_plan.hpp"
#include "converter/fold/fold_tensors.hpp"
#include "converter/import/onnx/onnx_import.hpp"
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
  double within = 0;
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
  LoadedPlan(const Graph& graph, const MeasureOptions& options) {
    const auto placed = PlaceGraph(graph, options);
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
    if (tenon_plan_load(file_->data(), file_->size(), &backends, options.threads, state_.data(),
                        state_bytes, scratch_.data(), scratch_bytes, &plan, &error) != TENON_OK ||
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

/// A way of running a model in less memory.
struct Fitted {
  Graph graph;
  MemoryFit fit;
  MeasureOptions measure;  ///< and the kernels that go with it
};

/// Least processor times of whole ops and of patches, in milliseconds. Runs take turns, so that
/// what else the machine does weighs on both.
std::pair<double, double> Time(const Graph& whole, const Fitted& fitted, const Settings& settings) {
  LoadedPlan first(whole, settings.measure);
  LoadedPlan second(fitted.graph, fitted.measure);
  std::pair<double, double> least{1e30, 1e30};
  for (int run = 0; run < settings.runs; ++run) {
    least.first = std::min(least.first, first.Run());
    least.second = std::min(least.second, second.Run());
  }
  return least;
}

/// Under the limit with the fastest kernels, or else with those that need no workspace.
Result<Fitted> Fit(const Graph& graph, const Settings& settings, int64_t limit) {
  Fitted fast{graph, {}, settings.measure};
  TENON_ASSIGN_OR_RETURN(fast.fit, FitMemory(fast.graph, limit, {}, MeasureWith(fast.measure)));
  if (fast.fit.measured_bytes <= limit) return fast;
  Fitted lean{graph, {}, settings.measure};
  lean.measure.most_workspace = 0;
  TENON_ASSIGN_OR_RETURN(lean.fit, FitMemory(lean.graph, limit, {}, MeasureWith(lean.measure)));
  return lean.fit.measured_bytes < fast.fit.measured_bytes ? std::move(lean) : std::move(fast);
}

void Print(const Graph& graph, const Fitted& fitted, const Settings& settings) {
  const MemorySplit& split = fitted.fit.split;
  std::printf("  arena %lld, estimate %lld -> %lld, %d tries\n",
              static_cast<long long>(fitted.fit.measured_bytes),
              static_cast<long long>(split.unsplit_peak),
              static_cast<long long>(split.estimated_peak), fitted.fit.tries);
  for (const SplitChain& chain : split.chains) {
    std::printf("  %lld ops %s .. %s: %s in %d (%s), peak %lld -> %lld, copies %lld, again %lld\n",
                static_cast<long long>(chain.ops), chain.first_op.c_str(), chain.last_op.c_str(),
                Name(chain.dimension), chain.patching.parts, Name(chain.patching.policy),
                static_cast<long long>(chain.peak_before), static_cast<long long>(chain.peak_after),
                static_cast<long long>(chain.copied_bytes),
                static_cast<long long>(chain.recomputed_work));
  }
  if (settings.runs > 0) {
    const auto [before, after] = Time(graph, fitted, settings);
    std::printf("  one inference: %.3f ms -> %.3f ms (%.3f)\n", before, after, after / before);
  }
  if (!settings.verbose) return;
  const auto placed = PlaceGraph(fitted.graph, fitted.measure);
  if (placed.ok()) PrintLive(placed->graph, placed->arena);
}

/// The smallest limit, a twelfth apart, at which patches take at most `settings.within` times as
/// long as whole ops.
Status PrintSmallestWithin(const Graph& graph, const Settings& settings, int64_t smallest,
                           int64_t whole) {
  for (int64_t limit = smallest; limit < whole; limit += std::max<int64_t>(1, limit / 12)) {
    TENON_ASSIGN_OR_RETURN(const Fitted fitted, Fit(graph, settings, limit));
    const auto [before, after] = Time(graph, fitted, settings);
    if (after > settings.within * before) continue;
    std::printf(" within %.2f times the time:\n", settings.within);
    Print(graph, fitted, settings);
    return {};
  }
  std::printf(" within %.2f times the time: only whole\n", settings.within);
  return {};
}

Result<Graph> Load(const char* path, const Settings& settings) {
  ImportOptions import;
  import.batch = settings.batch;
  if (!settings.input.empty()) import.shapes[settings.input] = settings.shape;
  TENON_ASSIGN_OR_RETURN(Graph graph, ImportOnnx(path, import, FoldTensors));
  std::vector<PassReport> reports;
  if (Status status = Canonicalise(graph, true, reports); !status.ok()) return status.error();
  return graph;
}

Status Run(const char* path, const Settings& settings) {
  TENON_ASSIGN_OR_RETURN(const Graph graph, Load(path, settings));
  int64_t ports = 0;
  for (const Graph::Port& port : graph.inputs()) ports += graph.tensor(port.tensor).ByteSize();
  for (const Graph::Port& port : graph.outputs()) ports += graph.tensor(port.tensor).ByteSize();
  TENON_ASSIGN_OR_RETURN(const MeasuredCut measured, MeasureWith(settings.measure)(graph, {}));
  const int64_t whole = measured.bytes;
  TENON_ASSIGN_OR_RETURN(const Fitted fitted, Fit(graph, settings, settings.limit));
  std::printf("%s: inputs and outputs %lld, arena %lld -> %lld (%.3f)\n", path,
              static_cast<long long>(ports), static_cast<long long>(whole),
              static_cast<long long>(fitted.fit.measured_bytes),
              static_cast<double>(fitted.fit.measured_bytes) / static_cast<double>(whole));
  Print(graph, fitted, settings);
  if (settings.within <= 0 || settings.runs <= 0) return {};
  return PrintSmallestWithin(graph, settings, fitted.fit.measured_bytes, whole);
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
    } else if (argument == "--within" && i + 1 < argc) {
      settings.within = std::atof(argv[++i]);
    } else if (const Status status = Run(argv[i], settings); !status.ok()) {
      std::printf("%s: %s\n", argv[i], status.error().message.c_str());
      ++failures;
    }
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tenon::converter

int main(int argc, char** argv) { return tenon::converter::Main(argc, argv); }
