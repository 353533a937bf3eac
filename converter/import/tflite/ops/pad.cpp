// PAD, PADV2 and MIRROR_PAD.
#include <algorithm>
#include <limits>

#include "converter/import/import_graph.hpp"
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

namespace {

/// The places along a dimension that a mirror before its first element and behind its last one
/// shows, the border among them.
std::vector<int64_t> MirroredPlaces(int64_t begin, int64_t dim, int64_t end) {
  std::vector<int64_t> places;
  for (int64_t i = begin; i > 0; --i) places.push_back(i - 1);
  for (int64_t i = 0; i < dim; ++i) places.push_back(i);
  for (int64_t i = 0; i < end; ++i) places.push_back(dim - 1 - i);
  return places;
}

/// SYMMETRIC: the border itself is repeated.
Result<TensorId> MirrorWithBorder(Node& node, TensorId x, const PadAttributes& amounts) {
  for (int32_t axis = 0; axis < amounts.rank; ++axis) {
    const int32_t begin = amounts.begins[axis];
    const int32_t end = amounts.ends[axis];
    const int32_t dim = node.ShapeOf(x)[axis];
    if (begin == 0 && end == 0) continue;
    if (begin > dim || end > dim) {
      return InputError("mirrors {} and {} elements of a dimension of {}", begin, end, dim);
    }
    const std::vector<int64_t> places = MirroredPlaces(begin, dim, end);
    TENON_ASSIGN_OR_RETURN(const Shape shape, ShapeFromDims({static_cast<int64_t>(places.size())}));
    GatherAttributes attributes;
    attributes.axis = axis;
    const TensorId indices = node.graph().AddConstantOf("mirror", DType::kI64, shape, places);
    TENON_ASSIGN_OR_RETURN(x, node.Emit(OpKind::kGather, {x, indices}, Attributes(attributes)));
  }
  return x;
}

}  // namespace

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
      TENON_ASSIGN_OR_RETURN(const TensorId y, MirrorWithBorder(node, x, attributes));
      return node.SetOutput(0, y, order);
    }
    attributes.mode = PadMode::kEdge;  // which one element of the border is
  }
  TENON_ASSIGN_OR_RETURN(const TensorId y, node.Emit(OpKind::kPad, {x}, Attributes(attributes)));
  return node.SetOutput(0, y, order);
}

}  // namespace tenon::converter::tflite
