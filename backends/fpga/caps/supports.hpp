// Which ops the accelerator runs: null, or why not.
#pragma once

#include "runtime/ops/op_row.hpp"

namespace tenon::fpga {

[[nodiscard]] const char* ConvSupports(const OpCall& call);
[[nodiscard]] const char* MatMulSupports(const OpCall& call);
[[nodiscard]] const char* MaxPoolSupports(const OpCall& call);
[[nodiscard]] const char* AveragePoolSupports(const OpCall& call);
/// A mean over rows and columns.
[[nodiscard]] const char* MeanSupports(const OpCall& call);
[[nodiscard]] const char* AddSupports(const OpCall& call);
[[nodiscard]] const char* LookupSupports(const OpCall& call);

/// True of a convolution with one filter per channel.
[[nodiscard]] bool IsDepthwise(const OpCall& call);

/// The number of elements that the average counts, if it is the same at every position; else 0.
[[nodiscard]] int AveragedElements(const OpCall& call);

}  // namespace tenon::fpga
