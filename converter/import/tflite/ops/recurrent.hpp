// What layers that go step by step share. Sequences are matrices: a row for each step and, inside
// it, each element of the batch.
#pragma once

#include <vector>

#include "converter/import/tflite/node.hpp"

namespace tenon::converter::tflite {

struct Sequence {
  TensorId rows = kNone;  ///< [steps * batch, size]
  int64_t steps = 0;
  int64_t batch = 0;
};

/// Input `index`, [batch, steps, size] or, with `time_major`, [steps, batch, size].
[[nodiscard]] Result<Sequence> ReadSequence(Node& node, int index, bool time_major);

/// What the steps gave, each [batch, size], as the file's dims have it. `steps` in order of time.
[[nodiscard]] Result<TensorId> JoinSteps(Node& node, const std::vector<TensorId>& steps,
                                         bool time_major);

/// Outputs of both ways: one after the other, or joined in one.
[[nodiscard]] Status SetBothWays(Node& node, TensorId forward, TensorId backward, bool merge);

/// x times the transpose of `weights`.
[[nodiscard]] Result<TensorId> Product(Node& node, TensorId x, TensorId weights);

/// Rows [begin, begin + size) of a matrix, and columns.
[[nodiscard]] Result<TensorId> Rows(Node& node, TensorId x, int64_t begin, int64_t size);
[[nodiscard]] Result<TensorId> Columns(Node& node, TensorId x, int64_t begin, int64_t size);

}  // namespace tenon::converter::tflite
