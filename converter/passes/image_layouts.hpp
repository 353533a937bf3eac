// The two orders of an image's dimensions, and the transposes between them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/ops/attributes.hpp"

namespace tenon::converter {

/// Permutations as transpose ops have them: dimension i of the result is the operand's [i].
inline constexpr int32_t kToChannelsFirst[4] = {0, 3, 1, 2};  ///< [N, H, W, C] to [N, C, H, W]
inline constexpr int32_t kToChannelsLast[4] = {0, 2, 3, 1};   ///< and back

[[nodiscard]] inline TransposeAttributes TransposeBy(const int32_t (&permutation)[4]) {
  TransposeAttributes transpose;
  transpose.rank = 4;
  std::copy_n(permutation, 4, transpose.permutation);
  return transpose;
}

}  // namespace tenon::converter
