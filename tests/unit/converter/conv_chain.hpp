// A model for tests of memory: its tensor in the middle is much larger than the ends.
#pragma once

#include <doctest/doctest.h>

#include <string_view>
#include <utility>

#include "converter/ir/text.hpp"

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

}  // namespace tenon::converter
