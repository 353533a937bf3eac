// A model as a program whose ops run beside each other on the cores of a CPU (docs/methods.md, P1).
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
  Picoseconds latency = 0;  ///< simulated, with what waiting for another thread costs
  size_t waits = 0;         ///< of one worker for another, per inference

  /// Borrows from this. The program is called "inter" and is of mode sequential.
  [[nodiscard]] ProgramToEmit ToEmit() const;
};

/// `graph` is canonical, without kernels. The ops of the CPU go to cores by AssignCores; addresses,
/// waits and the order on each are MakeSchedule's, on a board whose CPU is as many units. Errors:
/// those of ChooseKernels and MakeSchedule; kUsage, a board without a CPU. `threads`: cores, at
/// most what the plan's workers leave beside devices. Deterministic.
[[nodiscard]] Result<InterOpProgram> BuildInterOp(const Graph& graph, const ProgramOptions& options,
                                                  int threads, ScheduleOptions schedule);

}  // namespace tenon::converter
