#include "backends/cpu/caps/portable_supports.hpp"

#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::portable {
namespace {

constexpr char kNeedsF32[] = "the portable kernel runs f32 only";

Reason F32Only(const OpCall& call) {
  return call.Input(0).dtype == DType::kF32 ? Reason() : Reason(kNeedsF32);
}

constexpr bool IsSignedInteger(DType dtype) {
  return dtype == DType::kI8 || dtype == DType::kI16 || dtype == DType::kI32 ||
         dtype == DType::kI64;
}

constexpr bool IsByteInteger(DType dtype) { return dtype == DType::kI8 || dtype == DType::kU8; }

constexpr bool IsWideInteger(DType dtype) { return dtype == DType::kI32 || dtype == DType::kI64; }

}  // namespace

// Weights, and the input of a convolution, may be stored in other dtypes: the output tells.
Reason ConvSupports(const OpCall& call) {
  return call.Output().dtype == DType::kF32 ? Reason() : Reason(kNeedsF32);
}
Reason MatMulSupports(const OpCall& call) { return ConvSupports(call); }
Reason AveragePoolSupports(const OpCall& call) { return F32Only(call); }
Reason LrnSupports(const OpCall& call) { return F32Only(call); }
Reason ElementwiseSupports(const OpCall& call) { return F32Only(call); }

Reason MaxPoolSupports(const OpCall& call) {
  const DType dtype = call.Input(0).dtype;
  if (dtype == DType::kF32 || IsByteInteger(dtype) || IsWideInteger(dtype)) return nullptr;
  return "the portable max_pool runs f32, i8, u8, i32 and i64";
}

Reason ReduceSupports(const OpCall& call) {
  const DType dtype = call.Input(0).dtype;
  if (dtype == DType::kF32 || dtype == DType::kF64 || IsWideInteger(dtype)) return nullptr;
  const ReduceFunction function = call.AttributesAs<ReduceAttributes>().function;
  const bool extremum = function == ReduceFunction::kMax || function == ReduceFunction::kMin;
  if (IsByteInteger(dtype) && extremum) return nullptr;
  return "the portable reduce runs f32, f64, i32 and i64, and i8 and u8 for max and min";
}

Reason SoftmaxSupports(const OpCall& call) {
  const DType dtype = call.Input(0).dtype;
  if (dtype == DType::kF32 || dtype == DType::kF64) return nullptr;
  return "the portable softmax runs f32 and f64";
}

Reason LayerNormSupports(const OpCall& call) {
  const DType dtype = call.Input(0).dtype;
  if (dtype == DType::kF32 || dtype == DType::kF64 || IsByteInteger(dtype)) return nullptr;
  return "the portable layer_norm runs f32, f64, i8 and u8";
}

Reason AttentionSupports(const OpCall& call) {
  const DType dtype = call.Input(0).dtype;
  if (dtype == DType::kF32 || dtype == DType::kF64) return nullptr;
  return "the portable attention runs f32 and f64";
}

Reason CumSumSupports(const OpCall& call) {
  const DType dtype = call.Input(0).dtype;
  if (dtype == DType::kF32 || dtype == DType::kF64 || IsWideInteger(dtype)) return nullptr;
  return "the portable cum_sum runs f32, f64, i32 and i64";
}

Reason TopKSupports(const OpCall& call) {
  const DType dtype = call.Input(0).dtype;
  const bool is_float = dtype == DType::kF32 || dtype == DType::kF64;
  if (is_float || IsByteInteger(dtype) || IsWideInteger(dtype)) return nullptr;
  return "the portable top_k runs f32, f64, i8, u8, i32 and i64";
}

Reason ScatterSupports(const OpCall& call) {
  const DType dtype = call.Input(0).dtype;
  const bool joins = call.AttributesAs<ScatterAttributes>().function != ScatterFunction::kReplace;
  if (!joins || dtype == DType::kF32 || dtype == DType::kF64 || IsWideInteger(dtype)) {
    return nullptr;
  }
  return "the portable scatter joins f32, f64, i32 and i64";
}

Reason NonMaxSuppressionSupports(const OpCall& /*call*/) { return nullptr; }

Reason GridSampleSupports(const OpCall& /*call*/) { return nullptr; }

Reason ResizeSupports(const OpCall& call) {
  const bool nearest = call.AttributesAs<ResizeAttributes>().mode == ResizeMode::kNearest;
  if (nearest || call.Input(0).dtype == DType::kF32) return nullptr;
  return "the portable linear and cubic resize run f32 only";
}

Reason UnarySupports(const OpCall& call) {
  const DType dtype = call.Input(0).dtype;
  if (call.AttributesAs<UnaryAttributes>().function == UnaryFunction::kIdentity) return nullptr;
  if (dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kF16) return nullptr;
  if (IsSignedInteger(dtype) || dtype == DType::kBool) return nullptr;
  return "the portable unary runs f32, f64, f16, signed integers and bool";
}

Reason BinarySupports(const OpCall& call) {
  const DType dtype = call.Input(0).dtype;
  const bool is_plain =
      call.AttributesAs<BinaryAttributes>().activation.function == UnaryFunction::kIdentity;
  if (!is_plain && call.Output().dtype != DType::kF32) {
    return "the portable binary fuses activations into f32 results only";
  }
  if (dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kBool) return nullptr;
  if (IsByteInteger(dtype) || IsWideInteger(dtype)) return nullptr;
  return "the portable binary runs f32, f64, i8, u8, i32, i64 and bool";
}

// Data movement goes by element size, so every dtype will do.
Reason SelectSupports(const OpCall&) { return nullptr; }
Reason ConcatSupports(const OpCall&) { return nullptr; }
Reason SliceSupports(const OpCall&) { return nullptr; }
Reason PadSupports(const OpCall&) { return nullptr; }
Reason ReshapeSupports(const OpCall&) { return nullptr; }
Reason TransposeSupports(const OpCall&) { return nullptr; }
Reason ExpandSupports(const OpCall&) { return nullptr; }
Reason GatherSupports(const OpCall&) { return nullptr; }
Reason CastSupports(const OpCall&) { return nullptr; }
Reason CopySupports(const OpCall&) { return nullptr; }

// Of quantized ops runs whatever the shape rules let through.
Reason QuantizeSupports(const OpCall&) { return nullptr; }
Reason DequantizeSupports(const OpCall&) { return nullptr; }
Reason LookupSupports(const OpCall&) { return nullptr; }
Reason QuantizedConvSupports(const OpCall&) { return nullptr; }
Reason QuantizedMatMulSupports(const OpCall&) { return nullptr; }
Reason DynamicMatMulSupports(const OpCall&) { return nullptr; }
Reason QuantizedBinarySupports(const OpCall&) { return nullptr; }
Reason QuantizedAveragePoolSupports(const OpCall&) { return nullptr; }
Reason QuantizedReduceSupports(const OpCall&) { return nullptr; }
Reason QuantizedSoftmaxSupports(const OpCall&) { return nullptr; }

}  // namespace tenon::cpu::portable
