// What a pass is: a named change of the graph that says what it did and what it declined to do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "converter/ir/graph.hpp"

namespace tenon::converter {

struct Declined {
  std::string op;
  std::string reason;
};

struct PassReport {
  std::string name;
  int changed = 0;
  std::vector<Declined> declined;
};

/// A pass leaves the graph valid (Verify runs after each) and its outputs' names, types and values
/// unchanged up to rounding.
using PassFunction = Status (*)(Graph& graph, PassReport& report);

struct Pass {
  const char* name;  ///< "fold-batch-norm"
  PassFunction run;
};

/// Runs a pass, then Verify. Adds the pass's report in any case; an error names the pass.
[[nodiscard]] Status RunPass(const Pass& pass, Graph& graph, std::vector<PassReport>& reports);

}  // namespace tenon::converter
