// Makes quantized ops of float ops between dequantize and quantize ops.
#pragma once

#include "converter/ir/pass.hpp"

namespace tenon::converter {

/// A network that was quantized spells its arithmetic out: dequantize ops, a float op, a quantize
/// op. This pass makes one op of each such group, so that what lies between the first quantize op
/// and the last dequantize op works on bytes:
///   - what only moves elements works on bytes (quantize_moves.hpp);
///   - convolutions and matrix products with their bias, relu and clip (quantize_products.hpp);
///   also
///     those whose result stays float;
///   - sums, products, averages, softmax and the like (quantize_elementwise.hpp);
///   - bounds and zero points that the op before can store by itself (quantize_outputs.hpp);
///   - functions of one tensor, and changes of scale and zero point, are tables
///     (quantize_lookups.hpp).
/// Results are rounded half to even (Rounding::kHalfEven), as quantize ops of that rounding say.
/// The factors from a sum to its output are computed in f64 and stored as f32: now and then a
/// result is one step from what the float ops give.
///
/// A dequantize op with several readers is folded into each that takes it. Needs weights that are
/// still quantized: FoldQuantizedConstants, not FoldConstants, runs before it. Graphs may have been
/// fused as float graphs are (activations, residuals): residuals come apart again, and the product
/// before a residual then stays float, so a quantizer should mark graphs before they are fused.
///
/// Declines, with the reason, quantize ops and products with a dequantized operand that it leaves.
Status FuseQuantized(Graph& graph, PassContext& context);

}  // namespace tenon::converter
