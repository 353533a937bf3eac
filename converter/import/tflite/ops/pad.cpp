// PAD, PADV2 and MIRROR_PAD.
#include <algorithm>
#include <limits>

#include "converter/import/tflite/ops/ops.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

/// Amounts [rank, 2] in the order of x.
Result<PadAttributes> ReadAmounts(Node& node, TensorId x, Order order) {
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> amounts, node.Ints(1));
  PadAttributes attributes;
  attributes.rank = node.ShapeOf(x).rank;
  if (amounts.size() != 2 * static_cast<size_t>(attributes.rank)) {
    return InputError("{} amounts do not fit {} dimensions", amounts.size(), attributes.rank);
  }
  for (size_t i = 0; i < amounts.size(); ++i) {
    if (amounts[i] < 0 || amounts[i] > std::numeric_limits<int32_t>::max()) {
      return InputError("amount {} is out of range", amounts[i]);
    }
    const int32_t axis = AxisIn(order, static_cast<int32_t>(i / 2));
    (i % 2 == 0 ? attributes.begins : attributes.ends)[axis] = static_cast<int32_t>(amounts[i]);
  }
  return attributes;
}

}  // namespace

// Without a value of its own, what is added stands for 0: the zero point of integers.
Status LowerPad(Node& node) {
  const Order order = node.OrderOf(0);
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0, order));
  TENON_ASSIGN_OR_RETURN(PadAttributes attributes, ReadAmounts(node, x, order));
  if (node.HasInput(2)) {
    TENON_ASSIGN_OR_RETURN(const std::vector<double> value, node.Doubles(2));
    if (value.size() != 1) return InputError("its value is no scalar");
    attributes.value = static_cast<float>(value[0]);
  } else if (!IsFloat(node.DTypeOf(x))) {
    TENON_ASSIGN_OR_RETURN(const Quantization quantization, node.OutputQuantization(0));
    if (quantization.IsPerTensor()) {
      attributes.value = static_cast<float>(quantization.zero_point());
    }
  }
  TENON_ASSIGN_OR_RETURN(const TensorId y, node.Emit(OpKind::kPad, {x}, Attributes(attributes)));
  return node.SetOutput(0, y, order);
}

// SYMMETRIC repeats the border itself; that is what kEdge does where one element is added.
Status LowerMirrorPad(Node& node) {
  const auto* options = node.stored().builtin_options_as_MirrorPadOptions();
  if (options == nullptr) return InputError("its options are missing");
  const Order order = node.OrderOf(0);
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0, order));
  TENON_ASSIGN_OR_RETURN(PadAttributes attributes, ReadAmounts(node, x, order));
  attributes.mode = PadMode::kReflect;
  if (options->mode() != format::MirrorPadMode::REFLECT) {
    const auto many = [](int32_t amount) { return amount > 1; };
    if (std::any_of(attributes.begins, attributes.begins + attributes.rank, many) ||
        std::any_of(attributes.ends, attributes.ends + attributes.rank, many)) {
      return InputError("symmetric padding by more than 1 is not supported");
    }
    attributes.mode = PadMode::kEdge;
  }
  TENON_ASSIGN_OR_RETURN(const TensorId y, node.Emit(OpKind::kPad, {x}, Attributes(attributes)));
  return node.SetOutput(0, y, order);
}

}  // namespace tenon::converter::tflite
