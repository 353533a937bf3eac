#include "converter/driver/fit_program.hpp"

#include <algorithm>
#include <utility>

namespace tenon::converter {

Result<std::optional<Fitted>> FitByProgram(const Graph& graph, const CompileOptions& compile,
                                           const Fitted& like, int64_t bytes) {
  // The time of the greedy search grows with the cube of the ops.
  constexpr size_t kMostOps = 600;
  if (bytes <= 0 || graph.OpOrder().size() > kMostOps) return std::optional<Fitted>();
  CompileOptions with = compile;
  with.program.bytes = bytes;
  Fitted fitted;
  TENON_ASSIGN_OR_RETURN(fitted.compiled, Compile(graph, with));
  if (fitted.compiled.arena.bytes > bytes) return std::optional<Fitted>();
  fitted.ops = like.ops;
  fitted.chains = like.chains;
  fitted.cut = like.cut;
  fitted.lean = like.lean;
  fitted.compiled.memory.unsplit_bytes = like.compiled.memory.unsplit_bytes;
  return std::optional(std::move(fitted));
}

Result<Fitted> SmallestByProgram(const Graph& graph, const CompileOptions& compile, Fitted fitted) {
  constexpr int kMostTries = 6;
  CompileOptions quick = compile;
  quick.program.solve.most_nodes = -1;  // whether something fits, the greedy search tells
  int64_t works = fitted.compiled.arena.bytes;
  int64_t fails = works / 4;
  for (int tries = 0; tries < kMostTries && works - fails > works / 64; ++tries) {
    const int64_t middle = fails + (works - fails) / 2;
    TENON_ASSIGN_OR_RETURN(std::optional<Fitted> found, FitByProgram(graph, quick, fitted, middle));
    if (found) {
      fitted = std::move(*found);
      works = fitted.compiled.arena.bytes;
    } else {
      fails = middle;
    }
  }
  return fitted;
}

}  // namespace tenon::converter
