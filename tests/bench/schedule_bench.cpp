// Orders on a board whose units run side by side: source order, the best of several random orders,
// list scheduling and the chosen one, with the bound that no order can be below. Times in
// microseconds; one line per model.
// Several ways to split are scheduled, the fastest is printed. `split`: eighths of fast memory that
// chains of ops and single ops were split for.
// Usage: schedule_bench [--board NAME] [--budget N] [--every-split] [--only-split N] MODEL.onnx...
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string>

#include "converter/driver/pipeline.hpp"
#include "converter/fold/fold_tensors.hpp"
#include "converter/import/onnx/onnx_import.hpp"
#include "converter/layout/lower.hpp"
#include "converter/schedule/make_schedule.hpp"
#include "converter/split/patch_plan.hpp"
#include "converter/split/traffic_chains.hpp"
#include "converter/split/working_set.hpp"

namespace tenon::converter {
namespace {

struct Settings {
  std::string board = "npu-3unit";
  ScheduleOptions schedule;
  bool every_split = false;  ///< a line for each way to split
  int only = -1;             ///< the only way to split that is tried; -1: all
};

/// Shares of fast memory that chains and single ops are split for, in eighths; 0: not at all.
/// `traffic`: chains are cut for what they move.
struct Split {
  int64_t chains = 0;
  int64_t ops = 8;
  bool traffic = false;
};
constexpr Split kSplits[] = {{0, 4}, {0, 2}, {0, 1}, {8, 4}, {8, 2},       {8, 1},      {6, 4},
                             {6, 2}, {6, 1}, {4, 2}, {4, 1}, {5, 3, true}, {6, 2, true}};

Result<ScheduledProgram> Schedule(Graph graph, const Board& board, const Split& split,
                                  const ScheduleOptions& options) {
  const int64_t memory = board.ArenaSpace()->usable_bytes();
  if (split.traffic) {
    TrafficOptions traffic;
    traffic.fast_bytes = memory * split.chains / 8;
    traffic.limits = board.splitting;
    const auto cut = CutForTraffic(graph, traffic);
    if (!cut.ok()) return cut.error();
    if (cut->chains.empty()) return UsageError("no chain is cut");
  } else if (split.chains > 0) {
    MemorySplitOptions chains;
    chains.limits = board.splitting;
    // Inputs and outputs lie in slow memory here, which the planner does not know: its target may
    // be out of reach, and what comes near is of use all the same.
    int64_t target = memory * split.chains / 8;
    target = std::max(target, SmallestTarget(graph, chains));
    auto cut = SplitForMemory(graph, target, chains);
    if (!cut.ok()) return cut.error();
    if (cut->chains.empty()) return UsageError("no chain is cut");
  }
  KernelChoiceOptions kernels;
  kernels.board = &board;
  const WorkingSetLimit limit = ShareOf(WorkingSetLimitOf(kernels), split.ops);
  SplitReport report;
  if (Status status = SplitToWorkingSet(graph, limit, report); !status.ok()) return status.error();
  LowerOptions lower;
  lower.kernels.portable_only = true;
  std::vector<PassReport> passes;
  TENON_ASSIGN_OR_RETURN(Lowered lowered, Lower(graph, lower, passes));
  TENON_ASSIGN_OR_RETURN(ScheduledProgram program, MakeSchedule(graph, lowered.locations, board,
                                                                AnalyticCostModel(), options));
  if (Status status = Verify(graph); !status.ok()) return status.error();
  return program;
}

Result<Graph> Import(const std::string& path) {
  TENON_ASSIGN_OR_RETURN(Graph graph, ImportOnnx(path, ImportOptions{}, FoldTensors));
  std::vector<PassReport> passes;
  if (Status status = Canonicalise(graph, true, passes); !status.ok()) return status.error();
  return graph;
}

std::string Microseconds(const OrderTime& time) {
  return time.has_value() ? fmt::format("{:.1f}", static_cast<double>(*time) / 1e6) : "-";
}

void PrintLine(const std::string& name, const Split& split, const ScheduledProgram& program,
               double seconds) {
  const TimeOrder& order = program.order;
  const Picoseconds predicted = program.simulation.makespan;
  fmt::print(
      "{:<26} {:>2}{}{:>2} {:>5} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>6.3f} {:>5}/{:<5} {:>6} "
      "{:>6.2f}\n",
      name, split.chains, split.traffic ? 't' : ' ', split.ops, program.arena.steps.size(),
      Microseconds(order.source), Microseconds(order.random), Microseconds(order.list),
      Microseconds(order.chosen), Microseconds(predicted), Microseconds(order.bound.bound),
      static_cast<double>(predicted) / static_cast<double>(order.bound.bound), program.fetches,
      program.stores, order.tried, seconds);
  std::fflush(stdout);
}

bool Run(const std::string& path, const Board& board, const Settings& settings) {
  const std::clock_t start = std::clock();
  const auto seconds = [&] { return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC; };
  const std::filesystem::path file(path);
  const std::string name = file.stem().string().rfind("model", 0) == 0
                               ? file.parent_path().filename().string()
                               : file.stem().string();
  const auto graph = Import(path);
  if (!graph.ok()) {
    fmt::print("{:<26} {}\n", name, graph.error().message);
    return false;
  }
  // A quick search for each way to split, a long one for the best of them.
  ScheduleOptions quick = settings.schedule;
  quick.search.work_budget /= 8;
  std::optional<ScheduledProgram> best;
  Split best_split;
  std::string why_not;
  for (const Split& split : kSplits) {
    if (settings.only >= 0 && &split != &kSplits[settings.only]) continue;
    auto program = Schedule(*graph, board, split, quick);
    if (!program.ok()) {
      why_not = program.error().message;
      continue;
    }
    if (settings.every_split) PrintLine(name, split, *program, seconds());
    if (best.has_value() && best->simulation.makespan <= program->simulation.makespan) continue;
    best = std::move(*program);
    best_split = split;
  }
  if (!best.has_value()) {
    fmt::print("{:<26} {}\n", name, why_not);
    return false;
  }
  auto longest = Schedule(*graph, board, best_split, settings.schedule);
  if (longest.ok() && longest->simulation.makespan <= best->simulation.makespan) {
    best = std::move(*longest);
  }
  PrintLine(name, best_split, *best, seconds());
  return true;
}

int Main(int argc, char** argv) {
  Settings settings;
  fmt::print("{:<26} {:>5} {:>5} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>6} {:>11} {:>6} {:>6}\n",
             "model", "split", "steps", "source", "random", "list", "chosen", "placed", "bound",
             "ratio", "fetch/store", "orders", "s");
  bool good = true;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--every-split") {
      settings.every_split = true;
      continue;
    }
    if (argument.rfind("--", 0) == 0) {
      const char* value = i + 1 < argc ? argv[++i] : "";
      if (argument == "--board") settings.board = value;
      if (argument == "--only-split") settings.only = std::atoi(value);
      if (argument == "--budget") {
        settings.schedule.search.work_budget = std::strtoll(value, nullptr, 10);
      }
      continue;
    }
    const auto board = LoadBoard(settings.board);
    if (!board.ok()) {
      fmt::print(stderr, "{}\n", board.error().message);
      return EXIT_FAILURE;
    }
    good &= Run(argument, *board, settings);
  }
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace tenon::converter

int main(int argc, char** argv) { return tenon::converter::Main(argc, argv); }
