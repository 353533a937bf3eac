// Boards whose ops work in a second space too: what does not fit the arena's space lies in arenas
// of both, where kernels read and write it, without copies.
#pragma once

#include "converter/driver/compile.hpp"

namespace tenon::converter {

/// Spreads the storages of `compiled`, which has one arena and runs on one unit, over the board's
/// arena space, of which they may take `limit` bytes, and its direct space. Memory report and
/// predicted time follow. False, and nothing is changed: the board has no such space, or they do
/// not fit both.
[[nodiscard]] bool SpreadOverSpaces(const CompileOptions& options, int64_t limit,
                                    Compiled& compiled);

/// The smallest limit of the arena's space, in steps of a storage's alignment, with which
/// SpreadOverSpaces takes `compiled`; at most `most`, if it finds none.
[[nodiscard]] int64_t SmallestSpread(const CompileOptions& options, int64_t most,
                                     const Compiled& compiled);

}  // namespace tenon::converter
