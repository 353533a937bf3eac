// Dims and attributes of convolutions, as the tests of their kernels make them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/ops/attributes.hpp"
#include "tests/unit/backends/cpu/kernels/op_fixture.hpp"

namespace tenon::cpu::testing {

/// For the messages of tests: "x 1x3x8x8, weights 4x3x3x3".
inline std::string TextOf(const std::vector<int32_t>& x, const std::vector<int32_t>& w) {
  std::string text = "x ";
  for (size_t i = 0; i < x.size(); ++i) text += (i == 0 ? "" : "x") + std::to_string(x[i]);
  text += ", weights ";
  for (size_t i = 0; i < w.size(); ++i) text += (i == 0 ? "" : "x") + std::to_string(w[i]);
  return text;
}

struct ConvShapes {
  std::vector<int32_t> x;  ///< [n, c, h, w]
  std::vector<int32_t> w;  ///< [outputs, c / group, h, w]
  ConvAttributes conv;
};

inline std::vector<int32_t> OutputDims(const ConvShapes& c) {
  std::vector<int32_t> y = {c.x[0], c.w[0], 0, 0};
  for (size_t i = 0; i < 2; ++i) {
    const int32_t reach = (c.w[2 + i] - 1) * c.conv.dilations[i] + 1;
    const int32_t padded = c.x[2 + i] + c.conv.pads[i] + c.conv.pads[2 + i];
    y[2 + i] = (padded - reach) / c.conv.strides[i] + 1;
  }
  return y;
}

/// A kernel of up to `most` x `most`, uneven strides, pads and dilations, and an input that it
/// fits, up to `spare` longer than it must be.
inline ConvShapes RandomShapes(int32_t inputs, int32_t outputs, int32_t group, int32_t most,
                               Generator& random, int32_t spare = 12) {
  ConvShapes c;
  c.conv.group = group;
  c.w = {outputs, inputs / group, Pick(random, 1, most), Pick(random, 1, most)};
  c.x = {Pick(random, 1, 2), inputs, 0, 0};
  for (size_t i = 0; i < 2; ++i) {
    c.conv.strides[i] = Pick(random, 1, 3);
    c.conv.dilations[i] = Pick(random, 1, 2);
    c.conv.pads[i] = Pick(random, 0, 3);
    c.conv.pads[2 + i] = Pick(random, 0, 3);
    const int32_t reach = (c.w[2 + i] - 1) * c.conv.dilations[i] + 1;
    const int32_t pads = c.conv.pads[i] + c.conv.pads[2 + i];
    const int32_t least = reach > pads + 1 ? reach - pads : 1;
    c.x[2 + i] = Pick(random, least, least + spare);
  }
  return c;
}

}  // namespace tenon::cpu::testing
