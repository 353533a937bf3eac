// Makes a program of a model whose ops run concurrently on the cores of a CPU (docs/methods.md,
// P1).
#pragma once

#include <string>
#include <vector>

#include "converter/schedule/make_schedule.hpp"
#include "converter/schedule/program_to_emit.hpp"
#include "converter/stage/program_options.hpp"

namespace tenon::converter {

struct InterOpProgram {
  Graph graph;
  Locations locations;
  ScheduledProgram program;
  std::vector<std::string> worker_names;
  Picoseconds latency = 0;      ///< simulated, including the cost of waits between threads
  size_t waits = 0;             ///< waits of one worker for another, per inference
  SimulatedProgram simulated;   ///< the steps, with that cost
  std::vector<bool> is_device;  ///< by unit of `simulated`: no core
  /// By step: how many times as fast all cores do it together, see WithIdleHelp.
  std::vector<double> helped;

  std::string name = "inter";  ///< and mode, in the plan
  ProgramMode mode = ProgramMode::kSequential;

  /// Returns a view that borrows from this object.
  [[nodiscard]] ProgramToEmit ToEmit() const;
};

/// Builds the program from `graph`, which is canonical, without kernels. AssignCores gives the
/// CPU's ops to cores; MakeSchedule finds offsets, waits and each core's order, on a board on which
/// every core is a unit. Errors: those of ChooseKernels and MakeSchedule; kUsage, a board without a
/// CPU. `threads`: the number of cores, at most the plan's limit of workers less those of devices.
/// Deterministic.
[[nodiscard]] Result<InterOpProgram> BuildInterOp(const Graph& graph, const ProgramOptions& options,
                                                  int threads, ScheduleOptions schedule);

}  // namespace tenon::converter
