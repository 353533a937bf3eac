// The workers of a pipeline's stages: each stage has one on its unit, and where the board has a
// copy engine it may have one more there, which fetches constants ahead of the ops that read them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "converter/board/board.hpp"
#include "converter/schedule/schedule.hpp"
#include "converter/solve/stage/copy_ahead.hpp"
#include "converter/solve/stage/simulate_pipeline.hpp"
#include "converter/stage/stage_arenas.hpp"
#include "converter/stage/staged_graph.hpp"

namespace tenon::converter {

using TimeOfOp = std::function<Picoseconds(const Op& op)>;

/// Returns the unit that fetches constants on the board, index into Board::units, or kNone.
[[nodiscard]] int32_t CopyEngineOf(const Board& board);

/// Returns, by OpId of the steps, whether a copy engine may make the copy: a fetch (IsFetch) of
/// what only ops of its stage read.
[[nodiscard]] std::vector<bool> EngineCopies(const StagedGraph& staged);

/// Returns the ops and copies of one stage, each copy just before its reader. `copies`: as
/// EngineCopies.
[[nodiscard]] StageCopies CopiesOfStage(const StagedGraph& staged, const StageArenas& arenas,
                                        const std::vector<bool>& copies, int32_t stage,
                                        const TimeOfOp& time);

/// Moves copies in the order of steps to where they begin, so that what they write is alive from
/// there on. `starts`: by stage; without any the stage stays as it is.
void MoveCopiesAhead(StagedGraph& staged, const std::vector<bool>& copies,
                     const std::vector<CopyStarts>& starts);

/// Returns the steps of all workers: of stage s worker s, on `unit_of_stage`; behind them one on
/// `engine` for every stage that is helped, which makes its copies. These wait for the ops whose
/// bytes they overwrite, and ops for the copies that they read and overwrite. If copies are paced,
/// they also wait for the op before them in the order of steps: made as soon as there is memory,
/// they may keep the engine from what another stage needs sooner.
[[nodiscard]] Schedule ScheduleStages(const StagedGraph& staged, const StageArenas& arenas,
                                      const std::vector<bool>& copies,
                                      const std::vector<int32_t>& unit_of_stage,
                                      const std::vector<bool>& is_helped, int32_t engine,
                                      bool is_paced);

/// Returns the steps of a stage that is helped, for SimulatePipeline: first `start` on `unit`,
/// which nothing precedes.
[[nodiscard]] std::vector<StageStep> StepsOfStage(const StagedGraph& staged,
                                                  const Schedule& schedule, int32_t stage,
                                                  Picoseconds start, int32_t unit, int32_t engine,
                                                  const TimeOfOp& time);

}  // namespace tenon::converter
