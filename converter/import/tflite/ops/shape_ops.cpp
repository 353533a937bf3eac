// Operators that change dims, and those whose values are dims. Except for SHAPE they see tensors in
// the model's order.
#include <algorithm>
#include <cmath>

#include "converter/import/import_graph.hpp"
#include "converter/import/tflite/ops/ops.hpp"
#include "converter/ir/shapes.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

/// The wanted dims, with a single -1 resolved.
Result<std::vector<int64_t>> Resolved(std::vector<int64_t> dims, int64_t elements) {
  int64_t known = 1;
  auto open = dims.end();
  for (auto dim = dims.begin(); dim != dims.end(); ++dim) {
    if (*dim == -1) {
      if (open != dims.end()) return InputError("two of its dims are -1");
      open = dim;
    } else {
      if (*dim < 0 || *dim > INT32_MAX) return InputError("dim {} is out of range", *dim);
      known *= std::max<int64_t>(*dim, 1) > (INT64_MAX / std::max<int64_t>(known, 1)) ? 0 : *dim;
    }
  }
  if (open == dims.end()) return dims;
  if (known == 0 || elements % known != 0) {
    return InputError("{} elements do not divide into dims of {}", elements, known);
  }
  *open = elements / known;
  return dims;
}

Status Reshaped(Node& node, TensorId x, const std::vector<int64_t>& dims) {
  TENON_ASSIGN_OR_RETURN(const TensorId y, node.Reshape(x, dims));
  return node.SetOutput(0, y);
}

Result<std::vector<int64_t>> ReshapedDims(Node& node, const Shape& x) {
  std::vector<int64_t> dims;
  const auto* options = node.stored().builtin_options_as_ReshapeOptions();
  if (node.HasInput(1)) {
    TENON_ASSIGN_OR_RETURN(dims, node.Ints(1));
  } else if (options != nullptr && options->new_shape() != nullptr) {
    dims.assign(options->new_shape()->begin(), options->new_shape()->end());
  } else {
    return InputError("its dims are missing");
  }
  return Resolved(dims, x.Elements());
}

Result<std::vector<int64_t>> SqueezedDims(Node& node, const Shape& shape) {
  const auto* options = node.stored().builtin_options_as_SqueezeOptions();
  std::vector<bool> dropped(static_cast<size_t>(shape.rank), false);
  if (options != nullptr && options->squeeze_dims() != nullptr &&
      options->squeeze_dims()->size() > 0) {
    for (const int32_t value : *options->squeeze_dims()) {
      TENON_ASSIGN_OR_RETURN(const int32_t axis, node.Axis(value, shape.rank));
      if (shape[axis] != 1) return InputError("dimension {} is {}, not 1", axis, shape[axis]);
      dropped[static_cast<size_t>(axis)] = true;
    }
  } else {
    for (int32_t i = 0; i < shape.rank; ++i) dropped[static_cast<size_t>(i)] = shape[i] == 1;
  }
  std::vector<int64_t> dims;
  for (int32_t i = 0; i < shape.rank; ++i) {
    if (!dropped[static_cast<size_t>(i)]) dims.push_back(shape[i]);
  }
  return dims;
}

Result<std::vector<int64_t>> ExpandedDims(Node& node, const Shape& x) {
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, node.Ints(1));
  if (axes.size() != 1) return InputError("its axis is no scalar");
  TENON_ASSIGN_OR_RETURN(const int32_t axis, node.Axis(axes[0], x.rank + 1));
  std::vector<int64_t> dims = DimsOf(x);
  dims.insert(dims.begin() + axis, 1);
  return dims;
}

}  // namespace

Result<std::vector<int64_t>> NewDims(Node& node, const Shape& x) {
  switch (node.op()) {
    case format::BuiltinOperator::SQUEEZE:
      return SqueezedDims(node, x);
    case format::BuiltinOperator::EXPAND_DIMS:
      return ExpandedDims(node, x);
    default:
      return ReshapedDims(node, x);
  }
}

Status LowerReshape(Node& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, NewDims(node, node.ShapeOf(x)));
  return Reshaped(node, x, dims);
}

Status LowerTranspose(Node& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, node.Ints(1));
  const int32_t rank = node.ShapeOf(x).rank;
  if (axes.size() != static_cast<size_t>(rank)) {
    return InputError("{} axes for {} dimensions", axes.size(), rank);
  }
  std::vector<int32_t> permutation;
  for (const int64_t value : axes) {
    TENON_ASSIGN_OR_RETURN(const int32_t axis, node.Axis(value, rank));
    if (std::find(permutation.begin(), permutation.end(), axis) != permutation.end()) {
      return InputError("axis {} is given twice", axis);
    }
    permutation.push_back(axis);
  }
  TENON_ASSIGN_OR_RETURN(const TensorId y, node.Transpose(x, permutation));
  return node.SetOutput(0, y);
}

// Dimension by dimension, each as a broadcast along a new one before it.
Status LowerTile(Node& node) {
  TENON_ASSIGN_OR_RETURN(TensorId y, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> times, node.Ints(1));
  std::vector<int64_t> dims = DimsOf(node.ShapeOf(y));
  if (times.size() != dims.size()) {
    return InputError("{} repetitions for {} dimensions", times.size(), dims.size());
  }
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (times[axis] == 1) continue;
    if (times[axis] < 0 || times[axis] > INT32_MAX) {
      return InputError("repetition {} is out of range", times[axis]);
    }
    int64_t outer = 1;
    for (size_t k = 0; k < axis; ++k) outer *= dims[k];
    int64_t inner = 1;
    for (size_t k = axis; k < dims.size(); ++k) inner *= dims[k];
    TENON_ASSIGN_OR_RETURN(const TensorId flat, node.Reshape(y, {outer, 1, inner}));
    TENON_ASSIGN_OR_RETURN(const Shape wide, ShapeFromDims({outer, times[axis], inner}));
    TENON_ASSIGN_OR_RETURN(const TensorId repeated, node.Expand(flat, wide));
    dims[axis] *= times[axis];
    TENON_ASSIGN_OR_RETURN(y, node.Reshape(repeated, dims));
  }
  return node.SetOutput(0, y);
}

Status LowerBroadcastTo(Node& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, node.Ints(1));
  TENON_ASSIGN_OR_RETURN(const Shape shape, ShapeFromDims(dims));
  TENON_ASSIGN_OR_RETURN(const TensorId y, node.Expand(x, shape));
  return node.SetOutput(0, y);
}

Status LowerShape(Node& node) {
  const Order order = node.OrderOf(0);
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0, order));
  const Shape shape = node.ShapeOf(x);
  std::vector<double> dims;
  for (int32_t i = 0; i < shape.rank; ++i) dims.push_back(shape[AxisIn(order, i)]);
  TENON_ASSIGN_OR_RETURN(const DType dtype, node.OutputDType(0));
  if (dtype != DType::kI32 && dtype != DType::kI64) return InputError("its output must hold dims");
  Shape vector;
  vector.rank = 1;
  vector.dims[0] = shape.rank;
  return node.SetOutput(0, node.Constant("dims", dtype, vector, dims));
}

Status LowerRank(Node& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0, node.OrderOf(0)));
  TENON_ASSIGN_OR_RETURN(const DType dtype, node.OutputDType(0));
  return node.SetOutput(0, node.Scalar("rank", dtype, node.ShapeOf(x).rank));
}

// First number, limit, step.
Status LowerRange(Node& node) {
  double ends[3] = {};
  for (int i = 0; i < 3; ++i) {
    TENON_ASSIGN_OR_RETURN(const std::vector<double> values, node.Doubles(i));
    if (values.size() != 1) return InputError("its ends and step must be scalars");
    ends[i] = values.front();
  }
  constexpr double kMostNumbers = 1 << 24;
  const double count = ends[2] == 0 ? -1 : std::ceil((ends[1] - ends[0]) / ends[2]);
  if (!(count >= 0) || count > kMostNumbers) {
    return InputError("from {} to {} by {} is no range", ends[0], ends[1], ends[2]);
  }
  std::vector<double> numbers;
  for (int i = 0; i < static_cast<int>(count); ++i) numbers.push_back(ends[0] + i * ends[2]);
  TENON_ASSIGN_OR_RETURN(const DType dtype, node.OutputDType(0));
  return node.SetOutput(
      0, node.Constant("numbers", dtype, Shape({static_cast<int32_t>(count)}), numbers));
}

Status LowerZerosLike(Node& node) {
  const Order order = node.OrderOf(0);
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0, order));
  TENON_ASSIGN_OR_RETURN(const TensorId y,
                         node.Expand(node.Scalar("zero", node.DTypeOf(x), 0.0), node.ShapeOf(x)));
  return node.SetOutput(0, y, order);
}

Status LowerFill(Node& node) {
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, node.Ints(0));
  TENON_ASSIGN_OR_RETURN(const TensorId value, node.Input(1));
  TENON_ASSIGN_OR_RETURN(const Shape shape, ShapeFromDims(dims));
  TENON_ASSIGN_OR_RETURN(const TensorId y, node.Expand(value, shape));
  return node.SetOutput(0, y);
}

// Channel c of the result's pixel is channel c % C of pixel (c / C / block, c / C % block) of the
// block.
Status LowerSpaceToDepth(Node& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  const auto* options = node.stored().builtin_options_as_SpaceToDepthOptions();
  const Shape shape = node.ShapeOf(x);
  if (options == nullptr || options->block_size() < 1 || shape.rank != 4) {
    return InputError("it needs a block size and 4 dimensions");
  }
  const int64_t block = options->block_size();
  if (shape[1] % block != 0 || shape[2] % block != 0) {
    return InputError("blocks of {} do not divide an image of {} by {}", block, shape[1], shape[2]);
  }
  const int64_t height = shape[1] / block;
  const int64_t width = shape[2] / block;
  TENON_ASSIGN_OR_RETURN(TensorId y,
                         node.Reshape(x, {shape[0], height, block, width, block, shape[3]}));
  TENON_ASSIGN_OR_RETURN(y, node.Transpose(y, {0, 1, 3, 2, 4, 5}));
  return Reshaped(node, y, {shape[0], height, width, block * block * shape[3]});
}

Status LowerDepthToSpace(Node& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  const auto* options = node.stored().builtin_options_as_DepthToSpaceOptions();
  const Shape shape = node.ShapeOf(x);
  if (options == nullptr || options->block_size() < 1 || shape.rank != 4) {
    return InputError("it needs a block size and 4 dimensions");
  }
  const int64_t block = options->block_size();
  if (shape[3] % (block * block) != 0) {
    return InputError("blocks of {} do not divide {} channels", block, shape[3]);
  }
  const int64_t channels = shape[3] / (block * block);
  TENON_ASSIGN_OR_RETURN(TensorId y,
                         node.Reshape(x, {shape[0], shape[1], shape[2], block, block, channels}));
  TENON_ASSIGN_OR_RETURN(y, node.Transpose(y, {0, 1, 3, 2, 4, 5}));
  return Reshaped(node, y, {shape[0], shape[1] * block, shape[2] * block, channels});
}

}  // namespace tenon::converter::tflite
