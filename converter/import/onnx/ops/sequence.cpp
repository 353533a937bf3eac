// Operators on sequences of tensors. Their lengths and places are known at conversion, so that a
// sequence is a list of tensors of the importer's, and nothing of it is left in the graph.
#include <algorithm>

#include "converter/import/onnx/ops/indexing.hpp"
#include "converter/import/onnx/ops/ops.hpp"
#include "converter/ir/shapes.hpp"

namespace tenon::converter {
namespace {

using Ids = std::vector<TensorId>;

/// More would make a graph that nothing can plan in reasonable time.
constexpr int64_t kMostParts = 4096;

Result<Ids> Elements(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId id, node.Input(0));
  const Ids* const elements = node.SequenceOf(id);
  if (elements == nullptr) return InputError("its first input is no sequence");
  return *elements;
}

/// Input 1 or 2 of a node as a place in [0, `end`); `otherwise` where it is absent.
Result<int64_t> Place(Lowering& node, int input, int64_t length, int64_t end, int64_t otherwise) {
  int64_t place = otherwise;
  if (node.HasInput(input)) {
    TENON_ASSIGN_OR_RETURN(const TensorId id, node.Input(input));
    TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> values, node.ConstantInts(id));
    if (values.size() != 1) return InputError("its position has {} elements", values.size());
    place = values[0] < 0 ? values[0] + length : values[0];
  }
  if (place < 0 || place >= end) {
    return InputError("its position is outside the sequence, which has {} tensors", length);
  }
  return place;
}

Status CheckTypes(Lowering& node, const Ids& elements) {
  for (const TensorId id : elements) {
    if (node.DTypeOf(id) == node.DTypeOf(elements[0])) continue;
    return InputError("tensors of a sequence are {} and {}", DTypeName(node.DTypeOf(elements[0])),
                      DTypeName(node.DTypeOf(id)));
  }
  return {};
}

Status LowerSequenceEmpty(Lowering& node) {
  node.Ignore({"dtype"});
  return node.SequenceOutput({});
}

Status LowerSequenceConstruct(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const Ids elements, node.Inputs());
  TENON_RETURN_IF_ERROR(CheckTypes(node, elements));
  return node.SequenceOutput(elements);
}

Status LowerSequenceInsert(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(Ids elements, Elements(node));
  TENON_ASSIGN_OR_RETURN(const TensorId added, node.Input(1));
  const auto length = static_cast<int64_t>(elements.size());
  TENON_ASSIGN_OR_RETURN(const int64_t place, Place(node, 2, length, length + 1, length));
  elements.insert(elements.begin() + place, added);
  TENON_RETURN_IF_ERROR(CheckTypes(node, elements));
  return node.SequenceOutput(elements);
}

Status LowerSequenceErase(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(Ids elements, Elements(node));
  const auto length = static_cast<int64_t>(elements.size());
  TENON_ASSIGN_OR_RETURN(const int64_t place, Place(node, 1, length, length, length - 1));
  elements.erase(elements.begin() + place);
  return node.SequenceOutput(elements);
}

Status LowerSequenceAt(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const Ids elements, Elements(node));
  const auto length = static_cast<int64_t>(elements.size());
  if (!node.HasInput(1)) return InputError("input 1 is missing");
  TENON_ASSIGN_OR_RETURN(const int64_t place, Place(node, 1, length, length, 0));
  node.Alias(0, elements[static_cast<size_t>(place)]);
  return {};
}

Status LowerSequenceLength(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const Ids elements, Elements(node));
  TENON_ASSIGN_OR_RETURN(const TensorId length,
                         node.Scalar("length", DType::kI64, static_cast<double>(elements.size())));
  node.Alias(0, length);
  return {};
}

Status LowerConcatFromSequence(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(Ids elements, Elements(node));
  if (elements.empty()) return InputError("its sequence is empty");
  const bool new_axis = node.Flag("new_axis", false);
  const int32_t rank = node.ShapeOf(elements[0]).rank + (new_axis ? 1 : 0);
  TENON_ASSIGN_OR_RETURN(const int32_t axis, node.Axis(node.Int("axis", 0), rank));
  if (new_axis) {
    for (TensorId& element : elements) {
      std::vector<int64_t> dims = DimsOf(node.ShapeOf(element));
      if (axis > static_cast<int32_t>(dims.size())) return InputError("its tensors differ in rank");
      dims.insert(dims.begin() + axis, 1);
      TENON_ASSIGN_OR_RETURN(element, node.Reshape(element, dims));
    }
  }
  if (elements.size() == 1) {
    node.Alias(0, elements[0]);
    return {};
  }
  ConcatAttributes attributes;
  attributes.axis = axis;
  return node.Emit(OpKind::kConcat, elements, Attributes(attributes), 0).status();
}

/// Lengths of the parts of SplitToSequence: a list, parts of one length of which the last may be
/// shorter, or single elements.
Result<std::vector<int64_t>> PartsOf(Lowering& node, int64_t length) {
  std::vector<int64_t> parts;
  int64_t each = 1;
  if (node.HasInput(1)) {
    TENON_ASSIGN_OR_RETURN(const TensorId split, node.Input(1));
    TENON_ASSIGN_OR_RETURN(parts, node.ConstantInts(split));
    if (node.ShapeOf(split).rank > 0) {
      int64_t sum = 0;
      for (const int64_t part : parts) {
        if (part < 0 || part > length - sum) return InputError("its parts are not {} long", length);
        sum += part;
      }
      if (sum != length) return InputError("its parts are not {} long", length);
      return parts;
    }
    each = parts[0];
    if (each < 1) return InputError("its parts have a length of {}", each);
    parts.clear();
  }
  if ((length - 1) / each >= kMostParts) return InputError("more than {} parts", kMostParts);
  for (int64_t begin = 0; begin < length; begin += each) {
    parts.push_back(std::min(each, length - begin));
  }
  return parts;
}

Status LowerSplitToSequence(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  const Shape shape = node.ShapeOf(x);
  TENON_ASSIGN_OR_RETURN(const int32_t axis, node.Axis(node.Int("axis", 0), shape.rank));
  const bool keep_dims = node.Flag("keepdims", true) || node.HasInput(1);
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> parts, PartsOf(node, shape[axis]));
  Ids elements;
  int32_t begin = 0;
  for (const int64_t part : parts) {
    const auto size = static_cast<int32_t>(part);
    TENON_ASSIGN_OR_RETURN(TensorId element, node.Slice(x, SliceAlong(shape, axis, begin, size)));
    begin += size;
    if (!keep_dims) {
      std::vector<int64_t> dims = DimsOf(shape);
      dims.erase(dims.begin() + axis);
      TENON_ASSIGN_OR_RETURN(element, node.Reshape(element, dims));
    }
    elements.push_back(element);
  }
  return node.SequenceOutput(elements);
}

constexpr const char* kKnown =
    "positions constant; sequences are no inputs or outputs of the model";

constexpr const char* kParts =
    "parts constant, at most 4096; sequences are no inputs or outputs of the model";

constexpr LoweringRow kSequenceRows[] = {
    {"SequenceEmpty", LowerSequenceEmpty, {}, kKnown},
    {"SequenceConstruct", LowerSequenceConstruct, {}, kKnown},
    {"SequenceInsert", LowerSequenceInsert, {}, kKnown},
    {"SequenceErase", LowerSequenceErase, {}, kKnown},
    {"SequenceAt", LowerSequenceAt, {}, kKnown},
    {"SequenceLength", LowerSequenceLength, {}, kKnown},
    {"ConcatFromSequence", LowerConcatFromSequence, {}, kKnown},
    {"SplitToSequence", LowerSplitToSequence, {}, kParts},
};

}  // namespace

constexpr Span<const LoweringRow> kSequenceLowerings = kSequenceRows;

}  // namespace tenon::converter
