// Runs ops of a pipeline's stages again so that the stages' own arenas need less: a memory program
// of each stage (docs/methods.md, R3, R5).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "converter/solve/program/memory_program.hpp"
#include "converter/solve/time/simulator.hpp"
#include "converter/stage/staged_graph.hpp"

namespace tenon::converter {

struct StageProgramOptions {
  /// By stage: the limit in bytes of what is alive at once of the storages that only it uses.
  std::vector<int64_t> own_bytes;
  std::vector<std::string> backend_of_stage;
  std::function<Picoseconds(const Op& op)> time;  ///< of one run
  MemoryProgramOptions solve = {};
};

struct StagePrograms {
  StagedGraph staged;         ///< placed again
  std::vector<int> repeated;  ///< by stage: runs of ops beyond their first
  int32_t too_small = -1;     ///< the first stage that is not brought under its limit, or -1;
                              ///< there is nothing else then
};

/// Returns the level at which stages that do not stay as they are have `goal` bytes together with
/// those that do; none if there is no such level above 0.
[[nodiscard]] std::optional<int64_t> CommonLevel(const std::vector<int64_t>& own,
                                                 const std::vector<bool>& stays, int64_t goal);

/// Requires: a placed graph. What crosses stages lies in channels, and is no part of it.
/// Deterministic.
[[nodiscard]] Result<StagePrograms> RunStagesAgain(const StagedGraph& staged,
                                                   const StageProgramOptions& options,
                                                   PassReport& report);

}  // namespace tenon::converter
