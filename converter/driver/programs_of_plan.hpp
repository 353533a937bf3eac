// Makes all programs of a plan, the sequential one and those for several threads, with the code of
// an accelerator's segments.
#pragma once

#include <vector>

#include "converter/code/segment_code.hpp"
#include "converter/driver/fit.hpp"
#include "converter/driver/parallel_programs.hpp"
#include "converter/emit/emit_plan.hpp"

namespace tenon::converter {

/// All programs of a plan, which borrow from what they were compiled to.
struct ProgramsOfPlan {
  /// As the search was told of it: with less memory than there is, where code takes more than was
  /// counted.
  Board board;
  Fitted fitted;
  ParallelPrograms parallel;
  std::vector<ProgramToEmit> programs;
  std::vector<SegmentCodeReport> codes;
};

/// Compiles, and makes the code of an accelerator's segments. What it then turns down is mapped
/// elsewhere, and all is compiled again: each round turns down one op more at least. Only the code
/// shows how much memory it wants for itself and what its constants take: where that is more than
/// there is, the search gets so much less, a few times.
/// Errors: as CompileToFit and MakeParallelPrograms. Sets the board of `compile.kernels`.
[[nodiscard]] Status MakePrograms(const Graph& graph, const Board& board, const SplitOptions& split,
                                  const ParallelOptions& parallel, CompileOptions& compile,
                                  ProgramsOfPlan& made);

/// Checks that the programs fit together, with the constants that they share. CompileToFit has
/// checked the sequential one alone.
[[nodiscard]] Status CheckTogether(const std::vector<ProgramToEmit>& programs, const Board& board);

}  // namespace tenon::converter
