// Runs a converted plan as an attempt chose: once, in steps, or as a stream.
#pragma once

#include <string>
#include <vector>

#include "converter/driver/pipeline.hpp"
#include "tests/fuzz/differential/choices.hpp"

namespace tenon::test {

struct WayRun {
  std::string error;                                         ///< empty if all ran
  std::string kind;                                          ///< the way that was possible
  std::vector<std::vector<std::vector<std::byte>>> outputs;  ///< by step and port
};

/// `inputs` by step and port of the plan. A way that the plan has no program for is the sequential
/// one instead.
[[nodiscard]] WayRun RunInWay(const converter::Conversion& conversion, const Choices& choices,
                              const std::vector<std::vector<std::vector<std::byte>>>& inputs);

}  // namespace tenon::test
