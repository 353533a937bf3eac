// Finds the units of a board that a pipeline's stages can use, and the ops' times on them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "converter/board/board.hpp"
#include "converter/ir/locations.hpp"
#include "converter/solve/stage/stage_problem.hpp"

namespace tenon::converter {

/// The host's time to pass an input from one stage's thread to the next one's.
inline constexpr double kHandOverMicroseconds = 10;

struct PipelineUnits {
  std::vector<int32_t> board_unit;  ///< by unit: index into Board::units
  std::vector<StageUnit> costs;     ///< by unit
};

/// Returns as units every core of a CPU (at most `threads`, and at most the board's number) and
/// every other unit that runs ops. A device that has memory of its own and links to the arena's
/// space pays for what crosses. Errors (kUsage): a unit runs from another memory without such
/// links, or the arena's space is backed by slow memory: stages communicate through the arena's
/// space only.
[[nodiscard]] Result<PipelineUnits> UnitsOfPipeline(const Board& board, int threads);

/// Returns the time of an op on a unit of PipelineUnits, or kCannotRun.
using TimeOnUnit = std::function<Picoseconds(OpId op, size_t unit)>;

/// Makes the problem of `steps` in this order. With locations, whole storages cross stages;
/// without, tensors.
[[nodiscard]] StageProblem MakeStageProblem(const Graph& graph, const Locations* locations,
                                            const std::vector<OpId>& steps,
                                            const PipelineUnits& units, const TimeOnUnit& time);

}  // namespace tenon::converter
