// CONV_2D and DEPTHWISE_CONV_2D in floats.
#include "converter/import/tflite/ops/window.hpp"

namespace tenon::converter::tflite {

Status LowerConv(Node& node) {
  TENON_ASSIGN_OR_RETURN(const ConvNode conv, ReadConv(node));
  std::vector<TensorId> inputs = {conv.x, conv.w};
  if (node.HasInput(2)) {
    TENON_ASSIGN_OR_RETURN(const TensorId bias, node.Input(2));
    inputs.push_back(bias);
  }
  TENON_ASSIGN_OR_RETURN(TensorId y, node.Emit(OpKind::kConv, inputs, Attributes(conv.attributes)));
  TENON_ASSIGN_OR_RETURN(y, node.Activate(y, conv.activation));
  return node.SetOutput(0, y, Order::kChannelsFirst);
}

}  // namespace tenon::converter::tflite
