// Rotary embeddings: pairs of numbers of a head turned by an angle for each place.
#pragma once

#include "converter/import/onnx/lowering.hpp"

namespace tenon::converter {

/// Rows of a cache of cosines or sines for x [B, heads, L, size]: [B or 1, 1, L, half]. `positions`
/// is one number, where the first word stands, or [B, L].
[[nodiscard]] Result<TensorId> RowsAtPositions(Lowering& node, TensorId cache, TensorId positions,
                                               const Shape& x);

struct Rotation {
  TensorId cos = kNone;  ///< [B or 1, 1, L, half]
  TensorId sin = kNone;
  bool interleaved = false;  ///< pairs stand side by side, else half the numbers apart
};

/// x [B, heads, L, size] with each pair (a, b) turned: (a cos - b sin, b cos + a sin).
[[nodiscard]] Result<TensorId> Rotated(Lowering& node, TensorId x, const Rotation& rotation);

struct RotaryInputs {
  TensorId x = kNone;    ///< [B, L, heads * size] or [B, heads, L, size]
  TensorId cos = kNone;  ///< [places, half], or [B, L, half] without positions
  TensorId sin = kNone;
  TensorId positions = kNone;  ///< may be kNone
};

/// x turned as the node's attributes say, its first output.
[[nodiscard]] Status EmitRotaryEmbedding(Lowering& node, const RotaryInputs& inputs);

/// Of com.microsoft.
[[nodiscard]] Status LowerRotaryEmbedding(Lowering& node);

}  // namespace tenon::converter
