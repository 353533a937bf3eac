// Writes a graph and the decisions about it as a plan file.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "converter/layout/lower.hpp"
#include "converter/schedule/program_to_emit.hpp"

namespace tenon::converter {

struct EmitOptions {
  std::string board;  ///< name of the board
  uint64_t board_fingerprint = 0;
  std::string memory_space = "ram";  ///< of arenas without a space of their own
  std::string constants_space;       ///< empty: memory_space
  /// By worker of the schedule: what the board's units are called. May be shorter. For EmitPlan of
  /// one program; several programs have their own.
  std::vector<std::string> worker_names;
  uint32_t section_alignment = 64;
  std::vector<std::pair<std::string, std::string>> options;  ///< recorded as given
};

/// The bytes of the plan: the same for the same arguments. Constants that programs have in common
/// are written once. Errors (kInternal): what cannot be written down (more than 65535 kernels,
/// say), steps in no worker or in two, channels between stages that hand nothing over.
[[nodiscard]] Result<std::vector<uint8_t>> EmitPlan(const std::vector<ProgramToEmit>& programs,
                                                    const EmitOptions& options);

/// The same with one program, called "sequential". With a schedule, every step of the arena
/// plan is in one worker of it; without (no workers), one worker runs them all in order.
[[nodiscard]] Result<std::vector<uint8_t>> EmitPlan(const Graph& graph, const Locations& locations,
                                                    const ArenaPlan& arena,
                                                    const Schedule& schedule,
                                                    const EmitOptions& options);

/// The same with one worker.
[[nodiscard]] Result<std::vector<uint8_t>> EmitPlan(const Graph& graph, const Locations& locations,
                                                    const ArenaPlan& arena,
                                                    const EmitOptions& options);

/// A plan for the converter's own runs: lowers the graph and lays its tensors out in one arena,
/// without a search for the smallest. Errors: those of Lower.
[[nodiscard]] Result<std::vector<uint8_t>> LowerAndEmit(Graph& graph, const LowerOptions& options);

}  // namespace tenon::converter
