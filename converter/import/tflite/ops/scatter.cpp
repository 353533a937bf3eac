// STABLEHLO_SCATTER: windows of updates written, or joined with what is there, at given places.
// DYNAMIC_UPDATE_SLICE: one window.
#include <algorithm>
#include <numeric>

#include "converter/import/import_graph.hpp"
#include "converter/import/tflite/ops/ops.hpp"
#include "converter/ir/shapes.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

using Dims = std::vector<int64_t>;
using Op = format::BuiltinOperator;

/// At most as many as a tensor has dimensions.
Result<Dims> Read(const flatbuffers::Vector<int64_t>* values) {
  if (values == nullptr) return Dims();
  if (values->size() > kMaxRank) return InputError("its dimension numbers do not fit its operands");
  return Dims(values->begin(), values->end());
}

bool Contains(const Dims& dims, int64_t value) {
  return std::find(dims.begin(), dims.end(), value) != dims.end();
}

/// What the operator's attributes say of the dimensions of its three operands.
struct ScatterForm {
  Shape x;
  Shape indices;
  Shape updates;
  Dims window;             ///< dimensions of the updates that lie inside a window
  Dims window_of;          ///< for each of those, x's
  Dims index_of;           ///< for each number of an index, x's dimension
  int64_t index_axis = 0;  ///< where an index's numbers are; the rank of the indices: one number
};

bool AllWithin(const Dims& dims, int32_t rank) {
  return std::all_of(dims.begin(), dims.end(), [&](int64_t dim) { return dim >= 0 && dim < rank; });
}

/// Dims of the indices without the axis of their numbers: one for each window.
Dims Batch(const ScatterForm& form) {
  Dims batch;
  for (int32_t k = 0; k < form.indices.rank; ++k) {
    if (k != form.index_axis) batch.push_back(form.indices[k]);
  }
  return batch;
}

bool IsSound(const ScatterForm& form) {
  const int64_t numbers = form.index_axis == form.indices.rank
                              ? 1
                              : form.indices[static_cast<int32_t>(form.index_axis)];
  Dims batch = Batch(form);
  Dims outer;
  for (int32_t k = 0; k < form.updates.rank; ++k) {
    if (!Contains(form.window, k)) outer.push_back(form.updates[k]);
  }
  bool fits = form.window.size() == form.window_of.size() && batch == outer &&
              numbers == static_cast<int64_t>(form.index_of.size());
  for (size_t k = 0; fits && k < form.window.size(); ++k) {
    fits = form.updates[static_cast<int32_t>(form.window[k])] <=
           form.x[static_cast<int32_t>(form.window_of[k])];
  }
  return fits;
}

Result<ScatterForm> ReadForm(Node& node, const format::StablehloScatterOptions& options, TensorId x,
                             TensorId indices, TensorId updates) {
  ScatterForm form;
  form.x = node.ShapeOf(x);
  form.indices = node.ShapeOf(indices);
  form.updates = node.ShapeOf(updates);
  TENON_ASSIGN_OR_RETURN(form.window, Read(options.update_window_dims()));
  TENON_ASSIGN_OR_RETURN(form.index_of, Read(options.scatter_dims_to_operand_dims()));
  form.index_axis = options.index_vector_dim();
  TENON_ASSIGN_OR_RETURN(const Dims inserted, Read(options.inserted_window_dims()));
  for (int32_t k = 0; k < form.x.rank; ++k) {
    if (!Contains(inserted, k)) form.window_of.push_back(k);
  }
  const bool within = AllWithin(form.window, form.updates.rank) &&
                      AllWithin(form.index_of, form.x.rank) && form.index_axis >= 0 &&
                      form.index_axis <= form.indices.rank;
  if (!within || !IsSound(form)) {
    return InputError("its dimension numbers do not fit its operands");
  }
  return form;
}

Result<ScatterFunction> FunctionOf(const Node& node, int32_t body) {
  const format::SubGraph* graph = node.GraphAt(body);
  if (graph != nullptr && graph->operators()->size() == 0) {
    // The body gives back the update, its second parameter.
    const auto* inputs = graph->inputs();
    const auto* outputs = graph->outputs();
    const bool replaces = inputs != nullptr && outputs != nullptr && inputs->size() == 2 &&
                          outputs->size() == 1 && outputs->Get(0) == inputs->Get(1);
    if (replaces) return ScatterFunction::kReplace;
  }
  if (graph != nullptr && graph->operators()->size() == 1) {
    switch (node.OperatorOf(*graph->operators()->Get(0))) {
      case Op::ADD:
      case Op::STABLEHLO_ADD:
        return ScatterFunction::kAdd;
      case Op::MUL:
      case Op::STABLEHLO_MULTIPLY:
        return ScatterFunction::kMul;
      case Op::MAXIMUM:
      case Op::STABLEHLO_MAXIMUM:
        return ScatterFunction::kMax;
      case Op::MINIMUM:
      case Op::STABLEHLO_MINIMUM:
        return ScatterFunction::kMin;
      default:
        break;
    }
  }
  return InputError("its body is not one that replaces, adds, multiplies or compares");
}

int64_t StrideOf(const Shape& shape, int64_t axis) {
  return ElementsBetween(shape, static_cast<int32_t>(axis) + 1, shape.rank);
}

/// Where each window begins in x flattened, [windows]; nowhere if it does not lie inside x.
Result<TensorId> Starts(Node& node, const ScatterForm& form, TensorId indices) {
  const Dims batch = Batch(form);
  const int64_t windows =
      std::accumulate(batch.begin(), batch.end(), int64_t{1}, std::multiplies<>());
  const auto numbers = static_cast<int64_t>(form.index_of.size());
  TENON_ASSIGN_OR_RETURN(TensorId index, node.Cast(indices, DType::kI64));
  if (form.index_axis + 1 < form.indices.rank) {
    std::vector<int32_t> last;
    for (int32_t k = 0; k < form.indices.rank; ++k) {
      if (k != form.index_axis) last.push_back(k);
    }
    last.push_back(static_cast<int32_t>(form.index_axis));
    TENON_ASSIGN_OR_RETURN(index, node.Transpose(index, last));
  }
  TENON_ASSIGN_OR_RETURN(index, node.Reshape(index, {windows, numbers}));
  std::vector<double> strides;
  std::vector<double> lasts;
  for (const int64_t axis : form.index_of) {
    const auto place = std::find(form.window_of.begin(), form.window_of.end(), axis);
    const int64_t extent =
        place == form.window_of.end()
            ? 1
            : form.updates[static_cast<int32_t>(
                  form.window[static_cast<size_t>(place - form.window_of.begin())])];
    strides.push_back(static_cast<double>(StrideOf(form.x, axis)));
    lasts.push_back(static_cast<double>(form.x[static_cast<int32_t>(axis)] - extent));
  }
  const Shape row({1, static_cast<int32_t>(numbers)});
  const TensorId zero = node.Scalar("zero", DType::kI64, 0.0);
  const TensorId nowhere = node.Scalar("nowhere", DType::kI64, kNowhere);
  TENON_ASSIGN_OR_RETURN(const TensorId low,
                         node.Binary(BinaryFunction::kGreaterOrEqual, index, zero));
  TENON_ASSIGN_OR_RETURN(const TensorId high,
                         node.Binary(BinaryFunction::kLessOrEqual, index,
                                     node.Constant("last", DType::kI64, row, lasts)));
  TENON_ASSIGN_OR_RETURN(const TensorId inside, node.Binary(BinaryFunction::kAnd, low, high));
  TENON_ASSIGN_OR_RETURN(const TensorId scaled,
                         node.Binary(BinaryFunction::kMul, index,
                                     node.Constant("strides", DType::kI64, row, strides)));
  TENON_ASSIGN_OR_RETURN(const TensorId parts,
                         node.Emit(OpKind::kSelect, {inside, scaled, nowhere}, Attributes()));
  return node.Reduce(ReduceFunction::kSum, parts, 1 << 1, /*keep_dims=*/true);
}

/// One dimension of a window: how many places, and how far apart in the whole.
struct WindowExtent {
  int32_t count;
  int64_t stride;
};

/// Where the elements of a window lie, counted from the first: row by row.
Result<std::vector<double>> WindowOffsets(Node& node, const std::vector<WindowExtent>& extents) {
  std::vector<double> offsets = {0.0};
  for (const WindowExtent& extent : extents) {
    TENON_RETURN_IF_ERROR(node.CheckRoomFor(static_cast<int64_t>(offsets.size()) * extent.count));
    std::vector<double> next;
    for (const double offset : offsets) {
      for (int32_t i = 0; i < extent.count; ++i) {
        next.push_back(offset + static_cast<double>(i * extent.stride));
      }
    }
    offsets = std::move(next);
  }
  return offsets;
}

/// Those of the elements of an update's window in x flattened, [1, elements].
Result<TensorId> Offsets(Node& node, const ScatterForm& form) {
  std::vector<WindowExtent> extents;
  for (size_t k = 0; k < form.window.size(); ++k) {
    extents.push_back(
        {form.updates[static_cast<int32_t>(form.window[k])], StrideOf(form.x, form.window_of[k])});
  }
  TENON_ASSIGN_OR_RETURN(const std::vector<double> offsets, WindowOffsets(node, extents));
  TENON_ASSIGN_OR_RETURN(const Shape row, ShapeFromDims({1, static_cast<int64_t>(offsets.size())}));
  return node.Constant("offsets", DType::kI64, row, offsets);
}

/// The updates with the dimensions of windows behind the others.
Result<TensorId> WindowsLast(Node& node, const ScatterForm& form, TensorId updates) {
  std::vector<int32_t> permutation;
  for (int32_t k = 0; k < form.updates.rank; ++k) {
    if (!Contains(form.window, k)) permutation.push_back(k);
  }
  for (const int64_t k : form.window) permutation.push_back(static_cast<int32_t>(k));
  return node.Transpose(updates, permutation);
}

/// The i64 starts of DYNAMIC_UPDATE_SLICE, moved so that the update lies inside.
Result<TensorId> StartsInside(Node& node, TensorId starts, const Shape& x, const Shape& update) {
  std::vector<double> last;
  for (int32_t k = 0; k < x.rank; ++k) last.push_back(x[k] - update[k]);
  TENON_ASSIGN_OR_RETURN(const TensorId wide, node.Cast(starts, DType::kI64));
  const TensorId zero = node.Scalar("zero", DType::kI64, 0.0);
  const TensorId most = node.Constant("last", DType::kI64, Shape({x.rank}), last);
  TENON_ASSIGN_OR_RETURN(const TensorId above, node.Binary(BinaryFunction::kMax, wide, zero));
  return node.Binary(BinaryFunction::kMin, above, most);
}

}  // namespace

// x, indices, updates. A window that does not lie inside is an error when the op runs.
Status LowerGeneralScatter(Node& node) {
  const auto* options = node.stored().builtin_options_2_as_StablehloScatterOptions();
  if (options == nullptr) return InputError("its options are missing");
  if (node.InputCount() != 3) return InputError("it has {} operands, not 3", node.InputCount());
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId indices, node.Input(1));
  TENON_ASSIGN_OR_RETURN(const TensorId updates, node.Input(2));
  TENON_ASSIGN_OR_RETURN(const ScatterForm form, ReadForm(node, *options, x, indices, updates));
  ScatterAttributes attributes;
  TENON_ASSIGN_OR_RETURN(attributes.function,
                         FunctionOf(node, options->update_computation_subgraph_index()));
  TENON_ASSIGN_OR_RETURN(const TensorId starts, Starts(node, form, indices));
  TENON_ASSIGN_OR_RETURN(const TensorId offsets, Offsets(node, form));
  TENON_ASSIGN_OR_RETURN(const TensorId matrix, node.Binary(BinaryFunction::kAdd, starts, offsets));
  const int64_t count = node.ShapeOf(updates).Elements();
  TENON_ASSIGN_OR_RETURN(const TensorId places, node.Reshape(matrix, {count}));
  TENON_ASSIGN_OR_RETURN(const TensorId ordered, WindowsLast(node, form, updates));
  TENON_ASSIGN_OR_RETURN(const TensorId values, node.Reshape(ordered, {count, 1}));
  TENON_ASSIGN_OR_RETURN(const TensorId flat, node.Reshape(x, {node.ShapeOf(x).Elements(), 1}));
  TENON_ASSIGN_OR_RETURN(
      TensorId y, node.Emit(OpKind::kScatter, {flat, places, values}, Attributes(attributes)));
  TENON_ASSIGN_OR_RETURN(y, node.Reshape(y, DimsOf(form.x)));
  return node.SetOutput(0, y);
}

// x, update, starts: x with the update written over the part that begins there.
Status LowerDynamicUpdateSlice(Node& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId update, node.Input(1));
  TENON_ASSIGN_OR_RETURN(const TensorId starts, node.Input(2));
  const Shape shape = node.ShapeOf(x);
  const Shape part = node.ShapeOf(update);
  bool fits = part.rank == shape.rank && node.ShapeOf(starts).Elements() == shape.rank;
  for (int32_t k = 0; fits && k < shape.rank; ++k) fits = part[k] <= shape[k];
  if (!fits) return InputError("its update and starts do not fit its operand");
  int32_t inner = shape.rank;
  while (inner > 0 && part[inner - 1] == shape[inner - 1]) --inner;
  if (inner == 0) return node.SetOutput(0, update);
  const int64_t row = ElementsBetween(shape, inner, shape.rank);
  const int64_t rows = ElementsBetween(part, 0, inner);
  TENON_ASSIGN_OR_RETURN(const TensorId inside, StartsInside(node, starts, shape, part));
  std::vector<double> steps(static_cast<size_t>(shape.rank), 0.0);
  std::vector<WindowExtent> extents;
  for (int32_t k = 0; k < inner; ++k) {
    extents.push_back({part[k], ElementsBetween(shape, k + 1, inner)});
    steps[static_cast<size_t>(k)] = static_cast<double>(extents.back().stride);
  }
  TENON_ASSIGN_OR_RETURN(const std::vector<double> offsets, WindowOffsets(node, extents));
  const TensorId factors = node.Constant("steps", DType::kI64, Shape({shape.rank}), steps);
  TENON_ASSIGN_OR_RETURN(const TensorId along, node.Binary(BinaryFunction::kMul, inside, factors));
  TENON_ASSIGN_OR_RETURN(const TensorId first,
                         node.Reduce(ReduceFunction::kSum, along, 1, /*keep_dims=*/true));
  TENON_ASSIGN_OR_RETURN(const Shape places_shape, ShapeFromDims({rows}));
  TENON_ASSIGN_OR_RETURN(const TensorId places,
                         node.Binary(BinaryFunction::kAdd, first,
                                     node.Constant("offsets", DType::kI64, places_shape, offsets)));
  TENON_ASSIGN_OR_RETURN(const TensorId whole,
                         node.Reshape(x, {ElementsBetween(shape, 0, inner), row}));
  TENON_ASSIGN_OR_RETURN(const TensorId written, node.Reshape(update, {rows, row}));
  TENON_ASSIGN_OR_RETURN(TensorId y, node.Emit(OpKind::kScatter, {whole, places, written},
                                               Attributes(ScatterAttributes())));
  TENON_ASSIGN_OR_RETURN(y, node.Reshape(y, DimsOf(shape)));
  return node.SetOutput(0, y);
}

}  // namespace tenon::converter::tflite
