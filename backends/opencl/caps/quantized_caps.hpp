// The ops on quantized integers that the OpenCL kernels run; as supports.hpp says.
#pragma once

#include <cstddef>

#include "runtime/ops/op_row.hpp"

namespace tenon::opencl {

/// Accepts any quantized convolution or matrix product, and what else is not named below.
[[nodiscard]] const char* QuantizedSupports(const OpCall& call);
/// Accepts convolutions of one group whose weights and factors are constant.
[[nodiscard]] const char* QuantizedTileSupports(const OpCall& call);
[[nodiscard]] const char* QuantizedDepthwiseSupports(const OpCall& call);
/// Accepts matrix products by one constant matrix.
[[nodiscard]] const char* QuantizedMatMulTileSupports(const OpCall& call);
[[nodiscard]] const char* QuantizedBinarySupports(const OpCall& call);
[[nodiscard]] const char* QuantizedAveragePoolSupports(const OpCall& call);

/// Is KernelCaps::packed_bytes of what packs weights.
[[nodiscard]] size_t QuantizedConvHeld(const OpCall& call);
[[nodiscard]] size_t QuantizedMatMulHeld(const OpCall& call);

}  // namespace tenon::opencl
