// FULLY_CONNECTED and BATCH_MATMUL in floats.
#include "converter/import/tflite/ops/ops.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {

Result<FullyConnectedNode> ReadFullyConnected(Node& node) {
  FullyConnectedNode result;
  const auto* options = node.stored().builtin_options_as_FullyConnectedOptions();
  if (options == nullptr) return InputError("its options are missing");
  if (options->weights_format() != format::WeightsFormat::DEFAULT) {
    return InputError("weights in format {} are not supported",
                      static_cast<int>(options->weights_format()));
  }
  if (node.OutputCount() > 1) return InputError("a second output is not supported");
  result.activation = options->fused_activation_function();
  TENON_ASSIGN_OR_RETURN(result.x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(result.w, node.Input(1));
  const Shape x = node.ShapeOf(result.x);
  const Shape w = node.ShapeOf(result.w);
  if (w.rank != 2 || w[1] < 1) return InputError("its weights are no matrix");
  const int64_t rows = x.Elements() / w[1];
  if (x.rank < 1 || x.Elements() % w[1] != 0 ||
      (options->keep_num_dims() && x[x.rank - 1] != w[1])) {
    return InputError("rows of {} weights do not divide its input of {} elements", w[1],
                      x.Elements());
  }
  if (options->keep_num_dims()) {
    result.dims.assign(x.dims, x.dims + x.rank - 1);
  } else {
    result.dims.push_back(rows);
  }
  result.dims.push_back(w[0]);
  TENON_ASSIGN_OR_RETURN(result.x, node.Reshape(result.x, {rows, w[1]}));
  return result;
}

Status LowerFullyConnected(Node& node) {
  TENON_ASSIGN_OR_RETURN(const FullyConnectedNode layer, ReadFullyConnected(node));
  std::vector<TensorId> inputs = {layer.x, layer.w};
  if (node.HasInput(2)) {
    TENON_ASSIGN_OR_RETURN(const TensorId bias, node.Input(2));
    inputs.push_back(bias);
  }
  MatMulAttributes attributes;
  attributes.transpose_b = 1;
  TENON_ASSIGN_OR_RETURN(TensorId y, node.Emit(OpKind::kMatMul, inputs, Attributes(attributes)));
  TENON_ASSIGN_OR_RETURN(y, node.Activate(y, layer.activation));
  TENON_ASSIGN_OR_RETURN(y, node.Reshape(y, layer.dims));
  return node.SetOutput(0, y);
}

MatMulAttributes BatchMatMulAttributes(const Node& node) {
  MatMulAttributes attributes;
  if (const auto* options = node.stored().builtin_options_as_BatchMatMulOptions()) {
    attributes.transpose_a = options->adj_x() ? 1 : 0;
    attributes.transpose_b = options->adj_y() ? 1 : 0;
  }
  return attributes;
}

Status LowerBatchMatMul(Node& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId y, node.Input(1));
  TENON_ASSIGN_OR_RETURN(const TensorId z, node.Emit(OpKind::kMatMul, {x, y},
                                                     Attributes(BatchMatMulAttributes(node))));
  return node.SetOutput(0, z);
}

}  // namespace tenon::converter::tflite
