// One LSTM, GRU or RNN as its node describes it, and what each of its directions computes with.
#pragma once

#include <vector>

#include "converter/import/onnx/lowering.hpp"
#include "converter/import/onnx/ops/integer_products.hpp"

namespace tenon::converter {

enum class Cell { kRnn, kGru, kLstm };

/// Attributes and sizes that both directions share.
struct RecurrentLayer {
  Cell cell = Cell::kRnn;
  int64_t gates = 1;
  int64_t steps = 0;
  int64_t batch = 0;
  int64_t hidden = 0;
  int64_t directions = 1;
  bool reverse = false;  ///< the only direction is backwards
  float clip = 0.0F;     ///< 0: none
  bool linear_before_reset = false;
  bool input_forget = false;
  bool batch_first = false;
  bool dynamic = false;  ///< weights of integers, with scales (com.microsoft DynamicQuantizeLSTM)
  std::vector<UnaryAttributes> activations;  ///< of both directions
  std::vector<int64_t> lengths;              ///< empty: all are `steps`
};

/// What one direction computes with.
struct RecurrentDirection {
  int64_t index = 0;
  bool reverse = false;
  TensorId inputs = kNone;      ///< [T, N, gates H]: products and biases of all steps
  TensorId recurrence = kNone;  ///< [H, gates H]
  /// The same where it is of integers, by which h is multiplied in integers; else empty.
  QuantizedMatrix quantized_recurrence;
  TensorId reset_bias = kNone;  ///< [H], of a GRU with linear_before_reset
  TensorId peepholes = kNone;   ///< [3, H]: input, output, forget
  TensorId h = kNone;           ///< [N, H]
  TensorId c = kNone;
};

/// `size` elements of x from `begin` on along `axis`.
[[nodiscard]] Result<TensorId> Part(Lowering& node, TensorId x, int32_t axis, int64_t begin,
                                    int64_t size);

/// Element `index` along axis 0, without that axis.
[[nodiscard]] Result<TensorId> At(Lowering& node, TensorId x, int64_t index);

/// Concatenation; `output` as of Lowering::Emit.
[[nodiscard]] Result<TensorId> JoinParts(Lowering& node, const std::vector<TensorId>& parts,
                                         int32_t axis, int output = kIntermediate);

/// Reads attributes, sizes and lengths. Errors: what does not fit or is not supported.
[[nodiscard]] Result<RecurrentLayer> ReadLayer(Lowering& node, const Shape& x,
                                               const Shape& recurrence);

/// Direction `d` of x [T, N, I]: emits the product of all steps, and reads weights and states.
[[nodiscard]] Result<RecurrentDirection> ReadDirection(Lowering& node, const RecurrentLayer& layer,
                                                       TensorId x, int64_t d);

}  // namespace tenon::converter
