// The predicates and sizes behind q8.inc, for the fast kernels on i8 and u8 other than GEMMs; the
// kernels' own checks share them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/ops/op_row.hpp"
#include "runtime/ops/packing_key.hpp"

/// Each predicate returns null for yes, else the reason as a constant text, for operands that
/// passed CheckOpCall. They read dims, dtypes, attributes and constants, never strides.
namespace tenon::cpu::q8 {

/// Is the largest number of kernel taps of a depthwise convolution: their descriptions are on the
/// stack.
inline constexpr int kMostDepthwiseTaps = 124;
/// Is the most columns of a window that PairsRows takes.
inline constexpr int kMostPairedColumns = 7;

/// Accepts depthwise convolutions with weights of i8 and constant parameters.
[[nodiscard]] const char* DepthwiseSupports(const OpCall& call);
void DepthwisePackingKey(const OpCall& call, PackingKey* key);
[[nodiscard]] size_t DepthwisePackedBytes(const OpCall& call);

/// Accepts lookups of bytes in tables.
[[nodiscard]] const char* LookupSupports(const OpCall& call);
/// Accepts sums, differences and products.
[[nodiscard]] const char* BinarySupports(const OpCall& call);
/// These accept bytes with one scale for all elements.
[[nodiscard]] const char* QuantizeSupports(const OpCall& call);
[[nodiscard]] const char* DequantizeSupports(const OpCall& call);
/// Accepts rows of bytes.
[[nodiscard]] const char* QuantizeWordsSupports(const OpCall& call);
[[nodiscard]] const char* DequantizeWordsSupports(const OpCall& call);
[[nodiscard]] const char* LayerNormSupports(const OpCall& call);
[[nodiscard]] const char* SoftmaxSupports(const OpCall& call);
[[nodiscard]] const char* MaxPoolSupports(const OpCall& call);
[[nodiscard]] const char* AveragePoolSupports(const OpCall& call);
/// Accepts sums over the rows and columns of images.
[[nodiscard]] const char* ImageSumSupports(const OpCall& call);

/// Returns true for 3x3 without dilation, with strides both 1 or both 2.
[[nodiscard]] bool IsDepthwise3x3(const OpCall& call);
/// Returns true for windows of 3, 5 or 7 adjacent columns and two rows or more, with strides of at
/// most 2 columns: routines may take the taps of a column together.
[[nodiscard]] bool PairsRows(const OpCall& call);

}  // namespace tenon::cpu::q8
