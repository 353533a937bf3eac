#include <algorithm>

#include "converter/map/kernel_choice.hpp"
#include "converter/schedule/make_schedule.hpp"

namespace tenon::converter {
namespace {

class CopySplitter {
 public:
  CopySplitter(Graph& graph, Locations& locations) : graph_(graph), locations_(locations) {}

  Status Split(OpId id, int64_t most_bytes) {
    const Op op = graph_.op(id);
    const TensorId whole = op.outputs[0];
    const Shape shape = graph_.tensor(whole).shape;
    const int32_t axis = LongestAxis(shape);
    const int64_t bytes = 2 * graph_.tensor(whole).ByteSize();
    const int64_t parts = std::min<int64_t>((bytes + most_bytes - 1) / most_bytes, shape[axis]);
    std::vector<TensorId> copies;
    for (int64_t i = 0; i < parts; ++i) {
      const auto begin = static_cast<int32_t>(i * shape[axis] / parts);
      const auto end = static_cast<int32_t>((i + 1) * shape[axis] / parts);
      TENON_ASSIGN_OR_RETURN(const TensorId window, Slice(id, op.inputs[0], axis, begin, end));
      TENON_ASSIGN_OR_RETURN(
          const TensorId copy,
          Insert(id, OpKind::kCopy, fmt::format("{}/part_{}", op.name, i), {window}, Attributes()));
      graph_.MutableTensor(copy).layout = graph_.tensor(whole).layout;
      Place(copy, locations_.at(whole), axis, begin);
      copies.push_back(copy);
    }
    ConcatAttributes attributes;
    attributes.axis = axis;
    TENON_ASSIGN_OR_RETURN(const TensorId joined, Insert(id, OpKind::kConcat, op.name + "/join",
                                                         copies, Attributes(attributes)));
    const OpId concat = graph_.tensor(joined).producer;
    locations_.elided[static_cast<size_t>(concat)] = true;
    // The concatenation takes over the copy's output.
    graph_.MutableOp(concat).outputs[0] = whole;
    graph_.MutableOp(id).outputs[0] = joined;
    graph_.MutableTensor(whole).producer = concat;
    graph_.MutableTensor(joined).producer = id;
    graph_.EraseOp(id);
    return {};
  }

 private:
  static int32_t LongestAxis(const Shape& shape) {
    int32_t longest = 0;
    for (int32_t axis = 1; axis < shape.rank; ++axis) {
      if (shape[axis] > shape[longest]) longest = axis;
    }
    return longest;
  }

  Result<TensorId> Insert(OpId position, OpKind kind, const std::string& name,
                          const std::vector<TensorId>& inputs, const Attributes& attributes) {
    TENON_ASSIGN_OR_RETURN(const OpId made,
                           graph_.InsertOp(position, kind, name, inputs, attributes, {name}));
    UsePortableKernel(graph_.MutableOp(made));
    locations_.elided.resize(std::max(locations_.elided.size(), static_cast<size_t>(made) + 1),
                             false);
    const TensorId output = graph_.op(made).outputs[0];
    locations_.tensors.resize(std::max(locations_.tensors.size(), static_cast<size_t>(output) + 1));
    locations_.tensors[static_cast<size_t>(output)].root = output;
    return output;
  }

  Result<TensorId> Slice(OpId position, TensorId source, int32_t axis, int32_t begin, int32_t end) {
    const Shape& shape = graph_.tensor(source).shape;
    SliceAttributes attributes;
    attributes.rank = shape.rank;
    for (int32_t i = 0; i < shape.rank; ++i) {
      attributes.sizes[i] = i == axis ? end - begin : shape[i];
      attributes.steps[i] = 1;
    }
    attributes.begins[axis] = begin;
    const std::string name = fmt::format("{}/{}_{}", graph_.tensor(source).name, begin, end);
    TENON_ASSIGN_OR_RETURN(const TensorId window, Insert(position, OpKind::kSlice, name, {source},
                                                         Attributes(attributes)));
    locations_.elided[static_cast<size_t>(graph_.tensor(window).producer)] = true;
    graph_.MutableTensor(window).layout = graph_.tensor(source).layout;
    Place(window, locations_.at(source), axis, begin);
    return window;
  }

  /// `part` begins at index `begin` of the tensor located at `whole`.
  void Place(TensorId part, Location whole, int32_t axis, int32_t begin) {
    whole.offset += static_cast<int64_t>(begin) * whole.strides[static_cast<size_t>(axis)] *
                    DTypeBytes(graph_.tensor(part).dtype);
    locations_.tensors[static_cast<size_t>(part)] = std::move(whole);
  }

  Graph& graph_;
  Locations& locations_;
};

}  // namespace

Status SplitCopies(Graph& graph, Locations& locations, int64_t most_bytes) {
  CopySplitter splitter(graph, locations);
  for (const OpId id : graph.OpOrder()) {
    const Op& op = graph.op(id);
    if (op.kind != OpKind::kCopy || locations.elided[static_cast<size_t>(id)] ||
        2 * graph.tensor(op.outputs[0]).ByteSize() <= most_bytes) {
      continue;
    }
    TENON_RETURN_IF_ERROR(splitter.Split(id, most_bytes));
  }
  return {};
}

}  // namespace tenon::converter
