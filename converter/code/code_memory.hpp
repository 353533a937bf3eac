// What segments that run by code need of the host's memory: less than their tensors, since what
// only they use stays inside the accelerator, and some for what has no room there.
#pragma once

#include "converter/board/board.hpp"
#include "converter/layout/arena_plan.hpp"
#include "converter/schedule/program_to_emit.hpp"

namespace tenon::converter {

/// Marks the storages of `arena`, the program's, that only one segment of the board's accelerator
/// uses, and closes the gaps that they leave. What remains keeps its order, so that bytes are
/// shared by the same storages as before. Segments with a fall-back keep all of theirs: the CPU
/// needs them.
void KeepOnChip(const Board& board, const ProgramToEmit& program, ArenaPlan& arena);

/// Adds an arena for the scratch memory of the program's code, if it wants some. Segments of one
/// worker share it, since they follow each other.
void AddScratch(const ProgramToEmit& program, ArenaPlan& arena);

}  // namespace tenon::converter
