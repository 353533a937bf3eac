// Fits programs by the memory program (docs/methods.md, R3): on its own, and where splitting alone
// does not reach far enough.
#pragma once

#include <cstdint>
#include <optional>

#include "converter/driver/fit.hpp"

namespace tenon::converter {

/// Compiles the graph with a memory program for an arena of at most `bytes`; none if none is found.
/// `like` says how the graph was split. Errors: as Compile.
[[nodiscard]] Result<std::optional<Fitted>> FitByProgram(const Graph& graph,
                                                         const CompileOptions& compile,
                                                         const Fitted& like, int64_t bytes);

/// Returns the program with the smallest arena that memory programs reach from `fitted`, which was
/// compiled from this graph; `fitted` itself if none is smaller. Tries few limits, always the same.
[[nodiscard]] Result<Fitted> SmallestByProgram(const Graph& graph, const CompileOptions& compile,
                                               Fitted fitted);

}  // namespace tenon::converter
