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
  std::string memory_space = "ram";  ///< space of arenas for which none is given
  std::string constants_space;       ///< empty: memory_space
  /// By worker of the schedule: the name of the board's unit. May be shorter. Read by EmitPlan of
  /// one program; of several programs each has its own names.
  std::vector<std::string> worker_names;
  uint32_t section_alignment = 64;
  uint32_t arena_alignment = 64;  ///< of every arena's base, for devices that map arenas
  std::vector<std::pair<std::string, std::string>> options;  ///< recorded unchanged
};

/// Returns the bytes of the plan. Deterministic. Constants that programs share are written once.
/// Errors (kInternal): values that the format cannot represent (such as more than 65535 kernels),
/// steps in no worker or in two, channels without tensors.
[[nodiscard]] Result<std::vector<uint8_t>> EmitPlan(const std::vector<ProgramToEmit>& programs,
                                                    const EmitOptions& options);

/// Returns the bytes of the constants that a plan of these programs holds, with the padding between
/// them. Errors: as EmitPlan.
[[nodiscard]] Result<int64_t> EmittedConstantBytes(const std::vector<ProgramToEmit>& programs);

/// Writes a plan of one program, called "sequential". With a schedule, every step of the arena plan
/// is in one of its workers; without (no workers), one worker runs all steps in order.
[[nodiscard]] Result<std::vector<uint8_t>> EmitPlan(const Graph& graph, const Locations& locations,
                                                    const ArenaPlan& arena,
                                                    const Schedule& schedule,
                                                    const EmitOptions& options);

/// Writes a plan of one program with one worker.
[[nodiscard]] Result<std::vector<uint8_t>> EmitPlan(const Graph& graph, const Locations& locations,
                                                    const ArenaPlan& arena,
                                                    const EmitOptions& options);

/// Makes a plan for the converter's own runs: lowers the graph and places its tensors in one arena,
/// without a search for the smallest. Errors: those of Lower.
[[nodiscard]] Result<std::vector<uint8_t>> LowerAndEmit(Graph& graph, const LowerOptions& options);

}  // namespace tenon::converter
