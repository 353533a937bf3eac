// A plan as text for golden files: what runs, on what kernel, and where every tensor lies.
//
//   arena ram 512 (lower bound 512)
//   constants 128
//   tensor x f32[1,2,4,4] @arena:0 strides [32,16,4,1]
//   op conv "conv_1" cpu/cpu.conv.portable (x, w, _) -> (y) workspace 64 in place of input 3
//   input x as "data"
//   output y as "prob"
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::test {

/// Text of a plan's first program. A plan that cannot be opened gives the reason.
[[nodiscard]] std::string PlanText(const std::vector<uint8_t>& plan);

}  // namespace tenon::test
