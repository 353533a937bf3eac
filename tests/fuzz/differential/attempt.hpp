// One attempt of differential fuzzing: a random graph, converted as chosen and run as chosen,
// against the graph evaluated op by op.
#pragma once

#include <string>

#include "tests/fuzz/differential/choices.hpp"

namespace tenon::test {

struct Outcome {
  std::string wrong;  ///< in words; empty: nothing
  std::string kind;   ///< "refused", or the way in which it was run
  std::string graph;  ///< as text
};

[[nodiscard]] Outcome Try(const Choices& choices);

}  // namespace tenon::test
