// The units of a board as a pipeline's stages use them, and what a graph's ops take there.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "converter/board/board.hpp"
#include "converter/ir/locations.hpp"
#include "converter/solve/stage/stage_problem.hpp"

namespace tenon::converter {

/// What the host takes to hand an input from one stage's thread to the next one's.
inline constexpr double kHandOverMicroseconds = 10;

struct PipelineUnits {
  std::vector<int32_t> board_unit;  ///< by unit: index into Board::units
  std::vector<StageUnit> costs;     ///< by unit
};

/// Every core of a CPU (as many as `threads`, and as the board's unit has) and every other unit
/// that runs ops is one. Errors (kUsage): units that run ops from different memories, or with more
/// memory behind it: stages hand over through one memory only.
[[nodiscard]] Result<PipelineUnits> UnitsOfPipeline(const Board& board, int threads);

/// Time of an op on a unit of PipelineUnits, or kCannotRun.
using TimeOnUnit = std::function<Picoseconds(OpId op, size_t unit)>;

/// `steps` in order. With locations, what crosses are whole storages; without, tensors.
[[nodiscard]] StageProblem MakeStageProblem(const Graph& graph, const Locations* locations,
                                            const std::vector<OpId>& steps,
                                            const PipelineUnits& units, const TimeOnUnit& time);

}  // namespace tenon::converter
