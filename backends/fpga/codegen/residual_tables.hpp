// Tables by which the accelerator adds two feature maps: each byte of either map looks up a number
// on a common scale, the sum of the two is requantised.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "runtime/ops/attributes.hpp"

namespace tenon::fpga {

/// Entry i is that of the byte i - 128, as the accelerator stores it.
using AddTable = std::array<int32_t, 256>;

/// What is added, as the accelerator stores it: u8 maps with their top bit flipped.
struct AddTables {
  AddTable x;
  AddTable y;
  /// Bits behind the point of the entries: the sum is shifted by as many, halves to even
  /// (kHalfEven). With kFixedPoint 0: the sum is multiplied by the op's output factor.
  int fraction_bits = 0;
};

/// The largest number of bits behind the point that an entry has room for.
inline constexpr int kMostFractionBits = 22;

/// How the maps are stored: subtracted from values and zero points to get what is stored.
struct AddOffsets {
  int32_t x = 0;  ///< 128 of a u8 map, else 0
  int32_t y = 0;
  int32_t output = 0;
};

/// The value that the op's definition gives for two values as the model has them.
[[nodiscard]] int32_t ReferenceSum(const QuantizedBinaryAttributes& attributes, int32_t x,
                                   int32_t y);

/// Tables with which the accelerator gives the definition's result for each of the 65,536 pairs;
/// none if there are none, which is proven. The function is add or sub.
[[nodiscard]] std::optional<AddTables> MakeAddTables(const QuantizedBinaryAttributes& attributes,
                                                     const AddOffsets& offsets);

}  // namespace tenon::fpga
