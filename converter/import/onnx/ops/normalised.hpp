// What normalisations share: the statistics of a tensor, and what is made of them.
#pragma once

#include <vector>

#include "converter/import/onnx/lowering.hpp"

namespace tenon::converter {

struct Normalised {
  TensorId mean = kNone;
  TensorId variance = kNone;
  TensorId deviation = kNone;  ///< sqrt(variance + epsilon)
  TensorId centred = kNone;    ///< x - mean
};

/// begin, begin + 1, ... end - 1.
[[nodiscard]] std::vector<int32_t> AxisRange(int32_t begin, int32_t end);

/// Statistics of x over `axes`, which stay as dimensions of size 1.
[[nodiscard]] Result<Normalised> Statistics(Lowering& node, TensorId x,
                                            const std::vector<int32_t>& axes, double epsilon);

/// The same with 0 taken for the mean (there is none; `centred` is x), as RMS normalisation does.
[[nodiscard]] Result<Normalised> StatisticsAroundZero(Lowering& node, TensorId x,
                                                      const std::vector<int32_t>& axes,
                                                      double epsilon);

/// x * scale + bias (kNone: 0), the node's output `output`.
[[nodiscard]] Status ScaleAndShift(Lowering& node, TensorId x, TensorId scale, TensorId bias,
                                   int output = 0);

}  // namespace tenon::converter
