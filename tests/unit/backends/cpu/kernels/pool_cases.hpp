// Random windows over images, for tests of pooling kernels of every backend.
#pragma once

#include <vector>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/backends/cpu/kernels/op_fixture.hpp"

namespace tenon::cpu::testing {

struct PoolCase {
  std::vector<int32_t> x;
  std::vector<int32_t> y;
  PoolAttributes attributes;
};

/// Fills `y` by the op's own rule; false where it refuses the case.
inline bool InferOutput(PoolCase& c) {
  TensorView view;
  view.dims = c.x.data();
  view.rank = 4;
  const int32_t input = 0;
  OpCall call;
  call.tensors = &view;
  call.input_ids = {&input, 1};
  call.attributes = &c.attributes;
  OutputType type;
  if (!kMaxPoolRow.infer(call, &type).ok()) return false;
  c.y = {type.shape[0], type.shape[1], type.shape[2], type.shape[3]};
  return true;
}

/// One that the op's rule takes.
inline PoolCase RandomPoolCase(Generator& random, int32_t most_channels, int32_t most_rows) {
  PoolCase c;
  do {
    c.x = {Pick(random, 1, 2), Pick(random, 1, most_channels), Pick(random, 1, most_rows),
           Pick(random, 1, most_rows)};
    for (int i = 0; i < 2; ++i) {
      c.attributes.kernel[i] = Pick(random, 1, 5);
      c.attributes.strides[i] = Pick(random, 1, 3);
      c.attributes.dilations[i] = Pick(random, 1, 3);
      c.attributes.pads[i] = Pick(random, 0, 3);
      c.attributes.pads[2 + i] = Pick(random, 0, 3);
    }
    c.attributes.ceil_mode = Pick(random, 0, 1);
    c.attributes.count_include_pad = Pick(random, 0, 1);
  } while (!InferOutput(c));
  return c;
}

}  // namespace tenon::cpu::testing
