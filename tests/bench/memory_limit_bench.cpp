// The smallest arena of a model, or the cheapest way under a limit:
//   memory_limit_bench [--limit BYTES] [--batch N] [--portable] [--verbose] MODEL.onnx...
// Prints the arena of the whole ops, the arena of the patches, and how chains were cut.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "converter/fold/fold_constants.hpp"
#include "converter/import/onnx/onnx_import.hpp"
#include "converter/pipeline.hpp"
#include "tests/unit/converter/split/measure_arena.hpp"

namespace tenon::converter {
namespace {

struct Settings {
  int64_t limit = 0;
  int64_t batch = 0;
  bool verbose = false;
  MeasureOptions measure;
};

void PrintLive(const Graph& graph, const ArenaPlan& arena) {
  int64_t most = 0;
  size_t at = 0;
  for (size_t step = 0; step < arena.steps.size(); ++step) {
    int64_t live = 0;
    for (const PlannedStorage& storage : arena.storages) {
      const auto s = static_cast<int64_t>(step);
      if (storage.first_step <= s && s <= storage.last_step) live += storage.bytes;
    }
    if (live > most) {
      most = live;
      at = step;
    }
  }
  std::printf("  worst step %zu of %zu: %s (%s)\n", at, arena.steps.size(),
              graph.op(arena.steps[at]).name.c_str(), graph.op(arena.steps[at]).kernel.c_str());
  for (const PlannedStorage& storage : arena.storages) {
    const auto s = static_cast<int64_t>(at);
    if (storage.first_step > s || s > storage.last_step) continue;
    std::printf("    %10lld  %5lld..%-5lld %s\n", static_cast<long long>(storage.bytes),
                static_cast<long long>(storage.first_step),
                static_cast<long long>(storage.last_step),
                storage.root != kNone ? graph.tensor(storage.root).name.c_str() : "(workspace)");
  }
}

int Run(const char* path, const Settings& settings) {
  ImportOptions import;
  import.batch = settings.batch;
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
  const Result<MemoryFit> fit =
      FitMemory(fitted, settings.limit, options, MeasureWith(settings.measure));
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
  if (settings.verbose) {
    const auto placed = PlaceGraph(fitted, settings.measure);
    if (placed.ok()) PrintLive(placed->graph, placed->arena);
  }
  return 0;
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
