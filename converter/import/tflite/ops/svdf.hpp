// What SVDF in floats and in integers share.
#pragma once

#include "converter/import/tflite/node.hpp"

namespace tenon::converter::tflite {

struct SvdfInput {
  enum : int { kX = 0, kFeatures = 1, kTimes = 2, kBias = 3, kState = 4 };
};

struct SvdfShape {
  int64_t batch = 0;
  int32_t filters = 0;
  int32_t memory = 0;
  int32_t rank = 1;  ///< filters of a unit, which are neighbours
};

[[nodiscard]] Result<SvdfShape> ReadSvdfShape(Node& node, int32_t rank);

/// [batch, filters, memory]: what the last inference left without the oldest, and the newest. It is
/// left to the next inference.
[[nodiscard]] Result<TensorId> NextMemory(Node& node, TensorId newest, const SvdfShape& shape);

/// [batch, units]: the memory times the weights of time, summed for each unit, and the bias.
[[nodiscard]] Result<TensorId> SumOverMemory(Node& node, TensorId memory, TensorId times,
                                             const SvdfShape& shape);

}  // namespace tenon::converter::tflite
