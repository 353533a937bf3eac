// GatherElements, GatherND, OneHot and ReverseSequence.
#include "converter/import/onnx/ops/indexing.hpp"

#include <algorithm>
#include <numeric>

#include "converter/import/import_graph.hpp"
#include "converter/import/onnx/ops/ops.hpp"

namespace tenon::converter {
namespace {

using Ints = std::vector<int64_t>;

Result<TensorId> ConstantOffsets(Lowering& node, TensorId indices, const Ints& sizes,
                                 const Ints& strides) {
  TENON_ASSIGN_OR_RETURN(const Ints values, node.ConstantInts(indices));
  std::vector<double> offsets(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t size = sizes[i % sizes.size()];
    if (values[i] < -size || values[i] >= size) {
      return InputError("index {} is out of range for {} elements", values[i], size);
    }
    offsets[i] = static_cast<double>((values[i] < 0 ? values[i] + size : values[i]) *
                                     strides[i % strides.size()]);
  }
  return node.Constant("offsets", DType::kI64, node.ShapeOf(indices), offsets);
}

Result<TensorId> Vector(Lowering& node, const char* hint, const Ints& values) {
  const bool single = values.size() == 1;
  TENON_ASSIGN_OR_RETURN(
      const Shape shape,
      ShapeFromDims(single ? Ints() : Ints{static_cast<int64_t>(values.size())}));
  return node.Constant(hint, DType::kI64, shape, {values.begin(), values.end()});
}

Ints RowMajorStrides(const Shape& shape, int32_t begin, int32_t end) {
  Ints strides;
  for (int32_t i = begin; i < end; ++i) strides.push_back(ElementsBetween(shape, i + 1, end));
  return strides;
}

Status LowerGatherElements(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId indices, node.Input(1));
  TENON_ASSIGN_OR_RETURN(const int32_t axis, node.Axis(node.Int("axis", 0), node.ShapeOf(x).rank));
  return EmitGatherElements(node, x, indices, axis, 0).status();
}

Status LowerGatherNd(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId indices, node.Input(1));
  const Shape shape = node.ShapeOf(x);
  const int32_t batch_dims = node.Int32("batch_dims", 0);
  TENON_ASSIGN_OR_RETURN(const TensorId places, SlicePlaces(node, shape, indices, batch_dims));
  const Shape index_shape = node.ShapeOf(indices);
  const int32_t taken = batch_dims + index_shape[index_shape.rank - 1];
  Ints rows = {ElementsBetween(shape, 0, taken)};
  rows.insert(rows.end(), shape.dims + taken, shape.dims + shape.rank);
  TENON_ASSIGN_OR_RETURN(const TensorId flat, node.Reshape(x, rows));
  return EmitGather(node, flat, places, 0, 0).status();
}

// Where the index, counted from the end if negative, is the place along the new axis; an index out
// of range is nowhere.
Status LowerOneHot(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(TensorId indices, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId depth_input, node.Input(1));
  TENON_ASSIGN_OR_RETURN(const TensorId values, node.Input(2));
  TENON_ASSIGN_OR_RETURN(const std::vector<double> depths, node.ConstantDoubles(depth_input));
  if (depths.size() != 1 || !(depths[0] >= 1 && depths[0] <= INT32_MAX)) {
    return InputError("depth must be one number from 1 to 2^31 - 1");
  }
  if (node.ShapeOf(values).Elements() != 2) return InputError("values must hold two elements");
  const auto depth = static_cast<int64_t>(depths[0]);
  Ints dims = DimsOf(node.ShapeOf(indices));
  const auto rank = static_cast<int32_t>(dims.size()) + 1;
  TENON_ASSIGN_OR_RETURN(const int32_t axis, node.Axis(node.Int("axis", -1), rank));
  dims.insert(dims.begin() + axis, 1);
  if (!IsFloat(node.DTypeOf(indices))) {
    TENON_ASSIGN_OR_RETURN(indices, node.Cast(indices, DType::kI64));
  }
  TENON_ASSIGN_OR_RETURN(indices, node.Reshape(indices, dims));
  const DType dtype = node.DTypeOf(indices);
  TENON_ASSIGN_OR_RETURN(const TensorId zero, node.Scalar("zero", dtype, 0));
  TENON_ASSIGN_OR_RETURN(const TensorId size, node.Scalar("depth", dtype, depths[0]));
  TENON_ASSIGN_OR_RETURN(const TensorId below, node.Binary(BinaryFunction::kLess, indices, zero));
  TENON_ASSIGN_OR_RETURN(const TensorId wrapped, node.Binary(BinaryFunction::kAdd, indices, size));
  TENON_ASSIGN_OR_RETURN(indices, Select(node, below, wrapped, indices));
  TENON_ASSIGN_OR_RETURN(const TensorId iota, Iota(node, dtype, depth, axis, rank));
  TENON_ASSIGN_OR_RETURN(const TensorId hot, node.Binary(BinaryFunction::kEqual, indices, iota));
  SliceAttributes slice;
  slice.rank = 1;
  slice.sizes[0] = slice.steps[0] = 1;
  TENON_ASSIGN_OR_RETURN(const TensorId off, node.Slice(values, slice));
  slice.begins[0] = 1;
  TENON_ASSIGN_OR_RETURN(const TensorId on, node.Slice(values, slice));
  return Select(node, hot, on, off, 0).status();
}

// With the batch and time axes in front, and flattened, the reversal of known lengths is a gather.
Status LowerReverseSequence(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId input, node.Input(1));
  TENON_ASSIGN_OR_RETURN(const Ints lengths, node.ConstantInts(input));
  const Shape shape = node.ShapeOf(x);
  if (shape.rank < 2) return InputError("its input has {} dimensions, 2 are wanted", shape.rank);
  const int32_t batch = node.Int32("batch_axis", 1);
  const int32_t time = node.Int32("time_axis", 0);
  if (batch < 0 || batch > 1 || time != 1 - batch) {
    return InputError("batch_axis and time_axis must be 0 and 1");
  }
  if (lengths.size() != static_cast<size_t>(shape[batch])) {
    return InputError("{} lengths for a batch of {}", lengths.size(), shape[batch]);
  }
  TENON_RETURN_IF_ERROR(node.CheckRoomFor(int64_t{shape[0]} * shape[1]));
  std::vector<double> places(static_cast<size_t>(shape[0]) * static_cast<size_t>(shape[1]));
  for (int64_t b = 0; b < shape[batch]; ++b) {
    const int64_t length = lengths[static_cast<size_t>(b)];
    if (length < 0 || length > shape[time]) return InputError("length {} is out of range", length);
    for (int64_t t = 0; t < shape[time]; ++t) {
      const int64_t from = t < length ? length - 1 - t : t;
      const auto place = [&](int64_t at) {
        return batch == 0 ? b * shape[1] + at : at * shape[1] + b;
      };
      places[static_cast<size_t>(place(t))] = static_cast<double>(place(from));
    }
  }
  Ints rows = DimsOf(shape);
  rows.erase(rows.begin());
  rows[0] = int64_t{shape[0]} * shape[1];
  TENON_ASSIGN_OR_RETURN(x, node.Reshape(x, rows));
  TENON_ASSIGN_OR_RETURN(const Shape vector, ShapeFromDims({rows[0]}));
  TENON_ASSIGN_OR_RETURN(const TensorId indices,
                         node.Constant("places", DType::kI64, vector, places));
  TENON_ASSIGN_OR_RETURN(x, EmitGather(node, x, indices, 0));
  return node.Reshape(x, DimsOf(shape), 0).status();
}

constexpr LoweringRow kIndexingRows[] = {
    {"GatherElements", LowerGatherElements},
    {"GatherND", LowerGatherNd},
    {"GatherND", LowerGatherNd, "com.microsoft"},
    {"OneHot", LowerOneHot, {}, "depth constant"},
    {"ReverseSequence", LowerReverseSequence, {}, "sequence_lens constant"},
};

}  // namespace

Result<TensorId> Iota(Lowering& node, DType dtype, int64_t count, int32_t axis, int32_t rank) {
  Ints dims(static_cast<size_t>(rank), 1);
  dims[static_cast<size_t>(axis)] = count;
  TENON_ASSIGN_OR_RETURN(const Shape shape, ShapeFromDims(dims));
  TENON_RETURN_IF_ERROR(node.CheckRoomFor(count));
  std::vector<double> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), 0.0);
  return node.Constant("iota", dtype, shape, values);
}

Result<TensorId> Select(Lowering& node, TensorId condition, TensorId x, TensorId y, int output) {
  return node.Emit(OpKind::kSelect, {condition, x, y}, Attributes(), output);
}

Result<TensorId> Ordered(Lowering& node, TensorId x) {
  const DType dtype = node.DTypeOf(x);
  if (dtype == DType::kI16 || dtype == DType::kU16) return node.Cast(x, DType::kI32);
  return dtype == DType::kU32 ? node.Cast(x, DType::kI64) : x;
}

Result<TensorId> Offsets(Lowering& node, TensorId indices, const Ints& sizes, const Ints& strides) {
  if (node.graph().tensor(indices).IsConstant()) {
    return ConstantOffsets(node, indices, sizes, strides);
  }
  TENON_ASSIGN_OR_RETURN(indices, node.Cast(indices, DType::kI64));
  TENON_ASSIGN_OR_RETURN(const TensorId zero, node.Scalar("zero", DType::kI64, 0));
  TENON_ASSIGN_OR_RETURN(const TensorId size, Vector(node, "sizes", sizes));
  TENON_ASSIGN_OR_RETURN(const TensorId stride, Vector(node, "strides", strides));
  TENON_ASSIGN_OR_RETURN(const TensorId invalid, node.Scalar("invalid", DType::kI64, kNowhere));
  TENON_ASSIGN_OR_RETURN(const TensorId below, node.Binary(BinaryFunction::kLess, indices, zero));
  TENON_ASSIGN_OR_RETURN(const TensorId wrapped, node.Binary(BinaryFunction::kAdd, indices, size));
  TENON_ASSIGN_OR_RETURN(const TensorId index, Select(node, below, wrapped, indices));
  TENON_ASSIGN_OR_RETURN(const TensorId low,
                         node.Binary(BinaryFunction::kGreaterOrEqual, index, zero));
  TENON_ASSIGN_OR_RETURN(const TensorId high, node.Binary(BinaryFunction::kLess, index, size));
  TENON_ASSIGN_OR_RETURN(const TensorId valid, node.Binary(BinaryFunction::kAnd, low, high));
  TENON_ASSIGN_OR_RETURN(const TensorId offset, node.Binary(BinaryFunction::kMul, index, stride));
  return Select(node, valid, offset, invalid);
}

Result<TensorId> NotNegative(Lowering& node, TensorId indices, std::string_view name) {
  if (node.graph().tensor(indices).IsConstant()) {
    TENON_ASSIGN_OR_RETURN(const Ints values, node.ConstantInts(indices));
    for (const int64_t value : values) {
      if (value < 0) return InputError("its {} hold {}", name, value);
    }
    return indices;
  }
  const DType dtype = node.DTypeOf(indices);
  TENON_ASSIGN_OR_RETURN(const TensorId zero, node.Scalar("zero", dtype, 0));
  TENON_ASSIGN_OR_RETURN(const TensorId nowhere, node.Scalar("nowhere", dtype, INT32_MIN));
  TENON_ASSIGN_OR_RETURN(const TensorId below, node.Binary(BinaryFunction::kLess, indices, zero));
  return Select(node, below, nowhere, indices);
}

// Looked up in a table of what may be, since a gather looks at its indices.
Result<TensorId> InRange(Lowering& node, TensorId x, int64_t count, std::string_view name) {
  if (node.graph().tensor(x).IsConstant()) {
    TENON_ASSIGN_OR_RETURN(const Ints values, node.ConstantInts(x));
    for (const int64_t value : values) {
      if (value >= 0 && value < count) continue;
      return InputError("its {} hold {}, 0 to {} are possible", name, value, count - 1);
    }
    return node.Cast(x, DType::kI64);
  }
  TENON_ASSIGN_OR_RETURN(x, node.Cast(x, DType::kI64));
  TENON_ASSIGN_OR_RETURN(x, NotNegative(node, x, name));
  TENON_ASSIGN_OR_RETURN(const TensorId table, Iota(node, DType::kI64, count, 0, 1));
  return EmitGather(node, table, x, 0);
}

Result<TensorId> ElementPlaces(Lowering& node, const Shape& x, TensorId indices, int32_t axis) {
  const Shape shape = node.ShapeOf(indices);
  if (shape.rank != x.rank) {
    return InputError("its indices have {} dimensions, its input {}", shape.rank, x.rank);
  }
  // Where the other dimensions start: along the axis itself the indices say it.
  Ints base_dims = DimsOf(shape);
  base_dims[static_cast<size_t>(axis)] = 1;
  TENON_ASSIGN_OR_RETURN(const Shape base_shape, ShapeFromDims(base_dims));
  TENON_RETURN_IF_ERROR(node.CheckRoomFor(base_shape.Elements()));
  std::vector<double> base(static_cast<size_t>(base_shape.Elements()));
  for (size_t i = 0; i < base.size(); ++i) {
    auto rest = static_cast<int64_t>(i);
    for (int32_t k = x.rank - 1; k >= 0; --k) {
      if (k != axis && shape[k] > x[k]) {
        return InputError("its indices' dimension {} is {}, the input's {}", k, shape[k], x[k]);
      }
      base[i] += static_cast<double>(rest % base_shape[k] * ElementsBetween(x, k + 1, x.rank));
      rest /= base_shape[k];
    }
  }
  TENON_ASSIGN_OR_RETURN(const TensorId offsets,
                         Offsets(node, indices, {x[axis]}, {ElementsBetween(x, axis + 1, x.rank)}));
  TENON_ASSIGN_OR_RETURN(const TensorId starts,
                         node.Constant("starts", DType::kI64, base_shape, base));
  return node.Binary(BinaryFunction::kAdd, offsets, starts);
}

Result<TensorId> IndicesOfRows(Lowering& node, const Shape& x, TensorId indices, int32_t axis) {
  const Graph& graph = node.graph();
  const Shape shape = node.ShapeOf(indices);
  const OpId producer = graph.tensor(indices).producer;
  if (producer == kNone || graph.op(producer).kind != OpKind::kExpand) return kNone;
  const TensorId expanded = graph.op(producer).inputs[0];
  const Shape rows = node.ShapeOf(expanded);
  if (shape.rank != x.rank || axis + 1 >= shape.rank || rows.rank != shape.rank) return kNone;
  for (int32_t k = 0; k < shape.rank; ++k) {
    if (k < axis && (shape[k] != 1 || x[k] != 1)) return kNone;
    if (k > axis && (rows[k] != 1 || shape[k] != x[k])) return kNone;
  }
  if (rows[axis] != shape[axis]) return kNone;
  return node.Reshape(expanded, {rows[axis]});
}

Result<TensorId> SlicePlaces(Lowering& node, const Shape& x, TensorId indices, int32_t batch_dims) {
  const Shape shape = node.ShapeOf(indices);
  if (shape.rank < 1) return InputError("its indices are a scalar");
  const int32_t depth = shape[shape.rank - 1];
  if (batch_dims < 0 || batch_dims >= shape.rank || depth < 1 || batch_dims + depth > x.rank) {
    return InputError("indices of {} numbers after {} batch dimensions do not fit {} dimensions",
                      depth, batch_dims, x.rank);
  }
  for (int32_t i = 0; i < batch_dims; ++i) {
    if (shape[i] != x[i]) return InputError("batch dimension {} differs", i);
  }
  const int32_t end = batch_dims + depth;
  TENON_ASSIGN_OR_RETURN(const TensorId parts,
                         Offsets(node, indices, {x.dims + batch_dims, x.dims + end},
                                 RowMajorStrides(x, batch_dims, end)));
  TENON_ASSIGN_OR_RETURN(const TensorId places,
                         node.Reduce(ReduceFunction::kSum, parts, {shape.rank - 1}, false));
  if (batch_dims == 0) return places;
  Ints dims(static_cast<size_t>(shape.rank - 1), 1);
  std::copy_n(x.dims, batch_dims, dims.begin());
  TENON_ASSIGN_OR_RETURN(const Shape batch, ShapeFromDims(dims));
  TENON_RETURN_IF_ERROR(node.CheckRoomFor(batch.Elements()));
  std::vector<double> starts(static_cast<size_t>(batch.Elements()));
  const auto batch_stride = static_cast<double>(ElementsBetween(x, batch_dims, end));
  for (size_t i = 0; i < starts.size(); ++i) starts[i] = static_cast<double>(i) * batch_stride;
  TENON_ASSIGN_OR_RETURN(const TensorId start, node.Constant("starts", DType::kI64, batch, starts));
  return node.Binary(BinaryFunction::kAdd, places, start);
}

Result<TensorId> EmitGather(Lowering& node, TensorId x, TensorId indices, int32_t axis,
                            int output) {
  GatherAttributes attributes;
  attributes.axis = axis;
  return node.Emit(OpKind::kGather, {x, indices}, Attributes(attributes), output);
}

Result<TensorId> EmitGatherElements(Lowering& node, TensorId x, TensorId indices, int32_t axis,
                                    int output) {
  const Shape shape = node.ShapeOf(x);
  TENON_ASSIGN_OR_RETURN(const TensorId rows, IndicesOfRows(node, shape, indices, axis));
  if (rows != kNone) return EmitGather(node, x, rows, axis, output);
  TENON_ASSIGN_OR_RETURN(const TensorId places, ElementPlaces(node, shape, indices, axis));
  TENON_ASSIGN_OR_RETURN(const TensorId flat, node.Reshape(x, {shape.Elements()}));
  return EmitGather(node, flat, places, 0, output);
}

constexpr Span<const LoweringRow> kIndexingLowerings = kIndexingRows;

}  // namespace tenon::converter
