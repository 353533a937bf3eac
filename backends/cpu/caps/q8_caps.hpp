// What the fast kernels on i8 and u8 other than GEMMs take and hold: the predicates behind
// q8.inc, which the kernels' own checks share.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/ops/op_row.hpp"
#include "runtime/ops/packing_key.hpp"

/// Each predicate answers null for yes, else the reason as a constant text, for operands that
/// passed CheckOpCall. They read dims, dtypes, attributes and constants, never strides.
namespace tenon::cpu::q8 {

/// Kernel taps of a depthwise convolution: what reads them lies on the stack.
inline constexpr int kMostDepthwiseTaps = 124;

/// Depthwise with weights of i8 and constant parameters.
[[nodiscard]] const char* DepthwiseSupports(const OpCall& call);
void DepthwisePackingKey(const OpCall& call, PackingKey* key);
[[nodiscard]] size_t DepthwisePackedBytes(const OpCall& call);

/// Tables of bytes.
[[nodiscard]] const char* LookupSupports(const OpCall& call);
/// Sums, differences and products.
[[nodiscard]] const char* BinarySupports(const OpCall& call);
/// One scale for all elements; bytes.
[[nodiscard]] const char* QuantizeSupports(const OpCall& call);
[[nodiscard]] const char* DequantizeSupports(const OpCall& call);
[[nodiscard]] const char* MaxPoolSupports(const OpCall& call);
[[nodiscard]] const char* AveragePoolSupports(const OpCall& call);
/// Sums over the rows and columns of images.
[[nodiscard]] const char* ImageSumSupports(const OpCall& call);

/// 3x3 without dilation, strides both 1 or both 2.
[[nodiscard]] bool IsDepthwise3x3(const OpCall& call);

}  // namespace tenon::cpu::q8
