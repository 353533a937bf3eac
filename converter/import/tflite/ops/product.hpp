// What matrix products in floats and in integers share.
#pragma once

#include "converter/import/tflite/ops/ops.hpp"

namespace tenon::converter::tflite {

/// A FULLY_CONNECTED node: x of [rows, K] times w of [N, K], and the dims that the product gets.
struct FullyConnectedNode {
  TensorId x = kNone;
  TensorId w = kNone;
  std::vector<int64_t> dims;
  format::ActivationFunctionType activation;
};

[[nodiscard]] Result<FullyConnectedNode> ReadFullyConnected(Node& node);

[[nodiscard]] MatMulAttributes BatchMatMulAttributes(const Node& node);

}  // namespace tenon::converter::tflite
