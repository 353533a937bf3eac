// Predicts what a program takes on the only unit that runs its ops: the sum of their times.
#pragma once

#include <vector>

#include "converter/driver/compile.hpp"

namespace tenon::converter {

/// Sets the times of `compiled` before it has an arena. `executed` are the ops that run.
void PredictOnOneUnit(const CompileOptions& options, const Unit& unit,
                      const std::vector<OpId>& executed, Compiled& compiled);

/// Sets them again once it has one, with the workspaces that the arena has room for, on boards
/// whose times are those of instructions: with less workspace, kernels take longer. Grows the arena
/// as CompileOptions::most_time says.
void PredictInArena(const CompileOptions& options, const Unit& unit,
                    const std::vector<OpId>& executed, Compiled& compiled);

/// Gives workspaces what the arena may have, `most_bytes` or what it has, and sets the times by it:
/// on those boards storages are placed again where that makes kernels faster (WidenWorkspaces).
void FillArena(const CompileOptions& options, int64_t most_bytes, Compiled& compiled);

/// Does the same as PredictInArena for what a memory program has made of `compiled`, unless it
/// moves storages to another space, which takes time of its own.
void PredictProgramInArena(const CompileOptions& options, const Unit& unit, Compiled& compiled);

/// Returns the time of each step of the program alone on its unit, as predicted with its layouts,
/// views and workspaces; 0 where no unit of the board runs it.
[[nodiscard]] std::vector<Picoseconds> PredictSteps(const Board& board, const Profile* profile,
                                                    const Compiled& compiled);

}  // namespace tenon::converter
