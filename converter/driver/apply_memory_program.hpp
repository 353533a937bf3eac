// Makes a compiled program fit fewer bytes by running ops again, and by moving tensors to a slower
// memory and back (docs/methods.md, R3).
#pragma once

#include "converter/driver/compile.hpp"

namespace tenon::converter {

/// If the arena of `compiled`, which runs on `unit` alone, has more than CompileOptions::program
/// allows: looks for steps that need less, writes them into the graph, assigns locations and places
/// all again. Where gaps between storages take too much, looks again under a smaller limit. Keeps
/// the program that fits, and else leaves `compiled` as it is. On a board with a direct space, that
/// is where tensors are moved to, by the unit itself.
[[nodiscard]] Status ApplyMemoryProgram(const CompileOptions& options, const Unit& unit,
                                        Compiled& compiled);

}  // namespace tenon::converter
