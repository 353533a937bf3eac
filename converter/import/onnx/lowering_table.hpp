// Which ONNX operators can be imported. The rows stand with the lowerings (ops/ops.hpp).
#pragma once

#include <string_view>

#include "converter/import/onnx/lowering.hpp"

namespace tenon::converter {

struct LoweringRow {
  std::string_view op_type;
  LoweringFunction lower = nullptr;
  std::string_view domain = {};  ///< of operators; empty: ONNX's own
};

/// Oldest and newest versions of the default operator set whose definitions the lowerings follow.
inline constexpr int kOldestOpset = 1;
inline constexpr int kNewestOpset = 22;

/// Null if the operator cannot be imported. Of other domains than the default one, some quantized
/// operators of com.microsoft can.
[[nodiscard]] const LoweringRow* FindLowering(std::string_view domain, std::string_view op_type);

}  // namespace tenon::converter
