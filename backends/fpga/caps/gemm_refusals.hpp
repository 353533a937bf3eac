// Why the array cannot take the weights and factors of a convolution or product.
#pragma once

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::fpga {

/// `output_axis`: of the weights, the one of output channels.
[[nodiscard]] const char* GemmRefusal(const OpCall& call, const QuantizedOutput& output,
                                      int output_axis);

/// A weight of the op less its zero point; `index`: of its element in row-major order of the dims,
/// `channel`: of its output.
[[nodiscard]] int WeightValue(const OpCall& call, int64_t index, int channel);

/// Element `index` of a tensor of i8 or u8, in row-major order of its dims.
[[nodiscard]] int32_t ByteAt(const TensorView& view, int64_t index);

/// The zero point of x: 0 if it has none.
[[nodiscard]] int32_t ZeroPointOf(const OpCall& call, int input);

}  // namespace tenon::fpga
