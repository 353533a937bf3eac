// A model for tests of memory: its tensor in the middle is much larger than the ends.
#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "converter/driver/pipeline.hpp"
#include "converter/ir/text.hpp"
#include "tests/support/convert_and_run.hpp"

namespace tenon::converter {

/// Three 3x3 convolutions on an image.
inline constexpr const char* kChain = R"(input %x: f32[1,2,24,24]
const %w1: f32[16,2,3,3] = random(1)
const %w2: f32[16,16,3,3] = random(2)
const %w3: f32[2,16,3,3] = random(3)
%a = conv(%x, %w1) {pads=[1,1,1,1]}
%b = conv(%a, %w2) {pads=[1,1,1,1]}
%y = conv(%b, %w3) {pads=[1,1,1,1]}
output %y
)";

inline Graph Parsed(std::string_view text) {
  auto graph = ParseGraph(text);
  REQUIRE(graph.ok());
  return std::move(*graph);
}

/// What the portable kernels give.
inline std::vector<std::vector<std::byte>> Outputs(
    const Conversion& conversion, const std::vector<std::vector<std::byte>>& inputs) {
  test::RunSettings settings;
  settings.portable = true;
  const test::RunResult run = test::RunPlan(conversion.plan, inputs, settings);
  REQUIRE(run.error == "");
  return run.outputs;
}

}  // namespace tenon::converter
