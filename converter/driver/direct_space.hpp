// Supports boards whose ops can work in a second memory space: storages that do not all fit the
// arena's space are placed in arenas of both, and kernels read and write them there without copies.
#pragma once

#include "converter/driver/compile.hpp"

namespace tenon::converter {

/// Spreads the storages of `compiled`, which has one arena and runs on one unit, over the board's
/// arena space, of which they may take `limit` bytes, and its direct space. Updates the memory
/// report and the predicted time. Returns false and changes nothing if the board has no direct
/// space or the storages do not fit both.
[[nodiscard]] bool SpreadOverSpaces(const CompileOptions& options, int64_t limit,
                                    Compiled& compiled);

/// Returns the smallest limit of the arena's space, in steps of a storage's alignment, with which
/// SpreadOverSpaces accepts `compiled`; `most` if there is none below it.
[[nodiscard]] int64_t SmallestSpread(const CompileOptions& options, int64_t most,
                                     const Compiled& compiled);

}  // namespace tenon::converter
