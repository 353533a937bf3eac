// SVDF of integers: inputs and outputs of 8 bits, a memory and weights of time of 16, with the bits
// of TFLite's kernel (reference/svdf.h, EvalIntegerSVDF).
#include "converter/import/import_graph.hpp"
#include "converter/import/tflite/ops/ops.hpp"
#include "converter/import/tflite/ops/svdf.hpp"
#include "converter/import/tflite/ops/wide_integers.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

using In = SvdfInput;

struct SvdfScales {
  Quantization x, y;
  QuantizedScale to_memory, to_output;
};

Result<SvdfScales> ReadScales(const Node& node) {
  SvdfScales scales;
  TENON_ASSIGN_OR_RETURN(scales.x, node.InputQuantization(In::kX));
  TENON_ASSIGN_OR_RETURN(scales.y, node.OutputQuantization(0));
  TENON_ASSIGN_OR_RETURN(const Quantization features, node.InputQuantization(In::kFeatures));
  TENON_ASSIGN_OR_RETURN(const Quantization times, node.InputQuantization(In::kTimes));
  TENON_ASSIGN_OR_RETURN(const Quantization memory, node.InputQuantization(In::kState));
  if (!scales.x.IsPerTensor() || !scales.y.IsPerTensor() || !features.IsPerTensor() ||
      !times.IsPerTensor() || !memory.IsPerTensor()) {
    return InputError("one of its tensors has no one scale");
  }
  TENON_ASSIGN_OR_RETURN(scales.to_memory,
                         FactorOf(scales.x.scale() * features.scale() / memory.scale()));
  TENON_ASSIGN_OR_RETURN(scales.to_output,
                         FactorOf(memory.scale() * times.scale() / scales.y.scale()));
  return scales;
}

}  // namespace

Status LowerQuantizedSvdf(Node& node) {
  const auto* options = node.stored().builtin_options_as_SVDFOptions();
  if (options == nullptr) return InputError("its options are missing");
  TENON_ASSIGN_OR_RETURN(const DType state, node.InputDType(In::kState));
  if (state != DType::kI16) {  // only its weights are integers
    node.ComputeInFloats();
    return LowerSvdf(node);
  }
  const auto activation = options->fused_activation_function();
  // The kernel has the output's bounds for it, and takes no other.
  if (activation != format::ActivationFunctionType::RELU &&
      activation != format::ActivationFunctionType::NONE) {
    return InputError("of integers its activation must be RELU or none");
  }
  TENON_ASSIGN_OR_RETURN(const SvdfShape shape, ReadSvdfShape(node, options->rank()));
  TENON_ASSIGN_OR_RETURN(const SvdfScales scales, ReadScales(node));
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(In::kX));
  TENON_ASSIGN_OR_RETURN(const TensorId features, node.Input(In::kFeatures));
  TENON_ASSIGN_OR_RETURN(const TensorId sums,
                         IntegerSums(node, x, scales.x.zero_point(), features));
  TENON_ASSIGN_OR_RETURN(const TensorId newest, Rescaled(node, sums, scales.to_memory, Words()));
  TENON_ASSIGN_OR_RETURN(const TensorId memory, NextMemory(node, newest, shape));
  TENON_ASSIGN_OR_RETURN(const TensorId wide, node.Cast(memory, DType::kI32));
  TENON_ASSIGN_OR_RETURN(const TensorId stored, node.Input(In::kTimes));
  TENON_ASSIGN_OR_RETURN(const TensorId times, node.Cast(stored, DType::kI32));
  TENON_ASSIGN_OR_RETURN(const TensorId y, SumOverMemory(node, wide, times, shape));
  QuantizedOutput output;
  output.rounding = Rounding::kFixedPoint;
  output.zero_point = scales.y.zero_point();
  TENON_ASSIGN_OR_RETURN(const TensorId result, Rescaled(node, y, scales.to_output, output));
  return node.SetOutput(0, result);
}

}  // namespace tenon::converter::tflite
