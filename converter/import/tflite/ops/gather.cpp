// GATHER.
#include "converter/import/tflite/ops/ops.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {

Status LowerGather(Node& node) {
  const auto* options = node.stored().builtin_options_as_GatherOptions();
  if (options != nullptr && options->batch_dims() != 0) {
    return InputError("batch_dims {} is not supported", options->batch_dims());
  }
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId indices, node.Input(1));
  GatherAttributes attributes;
  TENON_ASSIGN_OR_RETURN(attributes.axis,
                         node.Axis(options == nullptr ? 0 : options->axis(), node.ShapeOf(x).rank));
  TENON_ASSIGN_OR_RETURN(const TensorId y,
                         node.Emit(OpKind::kGather, {x, indices}, Attributes(attributes)));
  return node.SetOutput(0, y);
}

}  // namespace tenon::converter::tflite
