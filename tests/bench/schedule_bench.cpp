// Orders on a board whose units run side by side: source order, the best of several random orders,
// list scheduling and the chosen one, with the bound that no order can be below. Times in
// microseconds; one line per model.
// Usage: schedule_bench [--board NAME] [--budget N] [--split SHARE] MODEL.onnx...
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>

#include "converter/fold/fold_constants.hpp"
#include "converter/import/onnx/onnx_import.hpp"
#include "converter/map/kernel_choice.hpp"
#include "converter/passes/assign_layouts.hpp"
#include "converter/pipeline.hpp"
#include "converter/schedule/make_schedule.hpp"

namespace tenon::converter {
namespace {

struct Settings {
  std::string board = "npu-3unit";
  ScheduleOptions schedule;
};

Result<ScheduledProgram> Schedule(const std::string& path, const Board& board,
                                  const Settings& settings) {
  TENON_ASSIGN_OR_RETURN(Graph graph, ImportOnnx(path, ImportOptions{}, FoldTensors));
  std::vector<PassReport> passes;
  if (Status status = Canonicalise(graph, true, passes); !status.ok()) return status.error();
  KernelChoiceOptions kernels;
  kernels.portable_only = true;
  TENON_ASSIGN_OR_RETURN(auto mapping, ChooseKernels(graph, kernels));
  if (Status status = RunPass({"assign-layouts", AssignLayouts}, graph, passes); !status.ok()) {
    return status.error();
  }
  PassReport views{"assign-locations", 0, {}};
  TENON_ASSIGN_OR_RETURN(Locations locations, AssignLocations(graph, views));
  const AnalyticCostModel model;
  TENON_ASSIGN_OR_RETURN(ScheduledProgram program,
                         MakeSchedule(graph, locations, board, model, settings.schedule));
  if (Status status = Verify(graph); !status.ok()) return status.error();
  return program;
}

std::string Microseconds(const OrderTime& time) {
  return time.has_value() ? fmt::format("{:.1f}", static_cast<double>(*time) / 1e6) : "-";
}

bool Run(const std::string& path, const Board& board, const Settings& settings) {
  const std::clock_t start = std::clock();
  const auto program = Schedule(path, board, settings);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  const std::string name = std::filesystem::path(path).stem().string();
  if (!program.ok()) {
    fmt::print("{:<28} {}\n", name, program.error().message);
    return false;
  }
  const TimeOrder& order = program->order;
  const Picoseconds predicted = program->simulation.makespan;
  fmt::print(
      "{:<28} {:>5} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>6.3f} {:>5}/{:<5} {:>8} "
      "{:>6.2f}\n",
      name, program->arena.steps.size(), Microseconds(order.source), Microseconds(order.random),
      Microseconds(order.list), Microseconds(order.chosen), Microseconds(predicted),
      Microseconds(order.bound.bound),
      static_cast<double>(predicted) / static_cast<double>(order.bound.bound), program->fetches,
      program->stores, order.tried, seconds);
  std::fflush(stdout);
  return true;
}

int Main(int argc, char** argv) {
  Settings settings;
  fmt::print("{:<28} {:>5} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>6} {:>11} {:>8} {:>6}\n",
             "model", "steps", "source", "random", "list", "chosen", "placed", "bound", "ratio",
             "fetch/store", "orders", "s");
  bool good = true;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind("--", 0) == 0) {
      const char* value = i + 1 < argc ? argv[++i] : "";
      if (argument == "--board") settings.board = value;
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
