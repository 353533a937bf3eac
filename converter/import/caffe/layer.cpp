#include "converter/import/caffe/layer.hpp"

#include <numeric>

#include "caffe_subset.pb.h"
#include "converter/import/import_graph.hpp"
#include "converter/ir/shapes.hpp"
#include "runtime/ops/host/op_table.hpp"

namespace tenon::converter::caffe {

Shape ShapeAlong(const Shape& shape, int32_t axis, int32_t axes) {
  Shape along;
  along.rank = shape.rank - axis;
  for (int32_t i = 0; i < along.rank; ++i) along[i] = i < axes ? shape[axis + i] : 1;
  return along;
}

// --- operands
// -------------------------------------------------------------------------------------

int Layer::BottomCount() const { return layer_.bottom_size(); }
int Layer::TopCount() const { return layer_.top_size(); }

Result<TensorId> Layer::Bottom(int index) {
  if (index >= layer_.bottom_size()) return InputError("it has no bottom {}", index);
  return importer_.Value(layer_.bottom(index));
}

Result<int32_t> Layer::Axis(int64_t axis, int32_t rank) const {
  if (axis < -rank || axis >= rank) {
    return InputError("its axis {} is out of range for {} dimensions", axis, rank);
  }
  return static_cast<int32_t>(axis < 0 ? axis + rank : axis);
}

Status Layer::SetTop(int index, TensorId id) {
  if (index >= layer_.top_size()) return InputError("it has no top {}", index);
  const std::string& top = layer_.top(index);
  if (graph().tensor(id).producer != kNone && graph().FindTensor(top) == kNone) {
    graph().RenameTensor(id, top);
  }
  importer_.Bind(top, id);
  return {};
}

// --- weights
// --------------------------------------------------------------------------------------

size_t Layer::WeightCount() const {
  const std::vector<Blob>* blobs = importer_.WeightsOf(layer_.name());
  return blobs == nullptr ? 0 : blobs->size();
}

Result<std::vector<float>> Layer::WeightValues(int index, int64_t count) {
  const auto at = static_cast<size_t>(index);
  if (at >= WeightCount()) {
    return InputError("the file of weights has {} arrays for it, array {} is missing",
                      WeightCount(), index);
  }
  const std::vector<float>& values = (*importer_.WeightsOf(layer_.name()))[at].values;
  if (static_cast<int64_t>(values.size()) != count) {
    return InputError("its array {} has {} elements, {} are wanted", index, values.size(), count);
  }
  return values;
}

Result<TensorId> Layer::Weights(int index, std::string_view hint, const Shape& shape) {
  if (!shape.IsValid()) return InputError("its array {} would have 2^31 elements or more", index);
  TENON_ASSIGN_OR_RETURN(const std::vector<float> values, WeightValues(index, shape.Elements()));
  return Constant(hint, shape, values);
}

TensorId Layer::Constant(std::string_view hint, const Shape& shape,
                         const std::vector<float>& values) {
  return graph().AddConstantOf(fmt::format("{}/{}", layer_.name(), hint), DType::kF32, shape,
                               values);
}

// --- emitting
// -------------------------------------------------------------------------------------

Result<TensorId> Layer::Emit(OpKind kind, const std::vector<TensorId>& inputs,
                             const Attributes& attributes) {
  return graph().AddOpTensor(kind, layer_.name(), inputs, attributes,
                             fmt::format("{}/{}", layer_.name(), GetOpRow(kind).name));
}

Result<TensorId> Layer::Reshape(TensorId x, const std::vector<int64_t>& dims) {
  TENON_ASSIGN_OR_RETURN(const Shape shape, ShapeFromDims(dims));
  if (shape == ShapeOf(x)) return x;
  return Emit(OpKind::kReshape, {x}, Attributes(ReshapeTo(shape)));
}

Result<TensorId> Layer::Transpose(TensorId x, const std::vector<int32_t>& permutation) {
  std::vector<int32_t> same(permutation.size());
  std::iota(same.begin(), same.end(), 0);
  if (permutation == same) return x;
  TransposeAttributes attributes;
  attributes.rank = static_cast<int32_t>(permutation.size());
  std::copy(permutation.begin(), permutation.end(), attributes.permutation);
  return Emit(OpKind::kTranspose, {x}, Attributes(attributes));
}

Result<TensorId> Layer::Slice(TensorId x, const SliceAttributes& attributes) {
  return Emit(OpKind::kSlice, {x}, Attributes(attributes));
}

Result<TensorId> Layer::Expand(TensorId x, const Shape& shape) {
  if (shape == ShapeOf(x)) return x;
  ExpandAttributes attributes;
  attributes.rank = shape.rank;
  std::copy_n(shape.dims, shape.rank, attributes.dims);
  return Emit(OpKind::kExpand, {x}, Attributes(attributes));
}

Result<TensorId> Layer::Unary(TensorId x, UnaryFunction function, float a, float b) {
  return Emit(OpKind::kUnary, {x}, Attributes(UnaryAttributes{function, a, b}));
}

Result<TensorId> Layer::Binary(BinaryFunction function, TensorId x, TensorId y) {
  BinaryAttributes attributes;
  attributes.function = function;
  return Emit(OpKind::kBinary, {x, y}, Attributes(attributes));
}

Result<TensorId> Layer::Binary(BinaryFunction function, TensorId x, float y) {
  return Binary(function, x, Constant("number", Shape(), {y}));
}

}  // namespace tenon::converter::caffe
