// Operators that move or rename elements without computing.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <set>

#include "converter/import/onnx/ops/ops.hpp"
#include "converter/ir/shapes.hpp"

namespace tenon::converter {
namespace {

using Dims = std::vector<int64_t>;

int64_t Product(Dims::const_iterator begin, Dims::const_iterator end) {
  return std::accumulate(begin, end, int64_t{1}, std::multiplies<>());
}

/// Axes of Squeeze and Unsqueeze: an attribute before opset 13, then an input.
Result<Dims> ReadAxes(Lowering& node) {
  if (node.opset() < 13) return node.Ints("axes");
  if (!node.HasInput(1)) return Dims();
  TENON_ASSIGN_OR_RETURN(const TensorId axes, node.Input(1));
  return node.ConstantInts(axes);
}

/// Resolves 0 (as in x) and -1 (what is left) in the shape that Reshape is given.
Result<Dims> ResolveDims(const Shape& x, Dims dims, bool allow_zero) {
  int64_t known = 1;
  auto wildcard = dims.end();
  for (auto dim = dims.begin(); dim != dims.end(); ++dim) {
    const auto index = dim - dims.begin();
    if (*dim == 0 && !allow_zero) {
      if (index >= x.rank) return InputError("dimension {} is 0, but the input has none", index);
      *dim = x[static_cast<int32_t>(index)];
    }
    if (*dim == -1) {
      if (wildcard != dims.end()) return InputError("two dimensions are -1");
      wildcard = dim;
    } else if (*dim < 0 || *dim > std::numeric_limits<int32_t>::max()) {
      return InputError("dimension {} is {}, out of range", index, *dim);
    } else if (__builtin_mul_overflow(known, *dim, &known)) {
      return InputError("the shape is too large");
    }
  }
  if (wildcard != dims.end()) {
    if (known == 0 || x.Elements() % known != 0) {
      return InputError("{} elements cannot be split into [{}]", x.Elements(),
                        fmt::join(dims, ", "));
    }
    *wildcard = x.Elements() / known;
  } else if (known != x.Elements()) {
    return InputError("{} elements cannot have the shape [{}]", x.Elements(),
                      fmt::join(dims, ", "));
  }
  return dims;
}

/// reshape, transpose, reshape
Status Rearrange(Lowering& node, TensorId x, const Dims& split,
                 const std::vector<int32_t>& permutation, const Dims& merged) {
  TENON_ASSIGN_OR_RETURN(x, node.Reshape(x, split));
  TENON_ASSIGN_OR_RETURN(x, node.Transpose(x, permutation));
  return node.Reshape(x, merged, 0).status();
}

Status LowerIdentity(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  node.Alias(0, x);
  return {};
}

// Drops nothing at inference: the mask is all ones.
Status LowerDropout(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  node.Ignore({"ratio", "seed"});
  if (node.opset() < 7) node.Ignore({"is_test"});
  if (node.HasInput(2)) {
    TENON_ASSIGN_OR_RETURN(const TensorId training, node.Input(2));
    TENON_ASSIGN_OR_RETURN(const Dims value, node.ConstantInts(training));
    if (value.size() != 1 || value[0] != 0) return InputError("training_mode is not supported");
  }
  node.Alias(0, x);
  if (!node.OutputUsed(1)) return {};
  const DType mask_type = node.opset() >= 10 ? DType::kBool : node.DTypeOf(x);
  TENON_ASSIGN_OR_RETURN(const TensorId one, node.Scalar("mask", mask_type, 1.0));
  return node.Expand(one, node.ShapeOf(x), 1).status();
}

Status LowerReshape(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  Dims dims;
  if (node.opset() < 5) {
    dims = node.Ints("shape");
  } else {
    TENON_ASSIGN_OR_RETURN(const TensorId shape, node.Input(1));
    TENON_ASSIGN_OR_RETURN(dims, node.ConstantInts(shape));
  }
  TENON_ASSIGN_OR_RETURN(
      dims, ResolveDims(node.ShapeOf(x), std::move(dims), node.Flag("allowzero", false)));
  return node.Reshape(x, dims, 0).status();
}

Status LowerFlatten(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  const Shape shape = node.ShapeOf(x);
  int64_t axis = node.Int("axis", 1);
  if (axis != shape.rank) {  // the rank itself is allowed: everything becomes a column
    TENON_ASSIGN_OR_RETURN(axis, node.Axis(axis, shape.rank));
  }
  const Dims dims = DimsOf(shape);
  return node
      .Reshape(
          x, {Product(dims.begin(), dims.begin() + axis), Product(dims.begin() + axis, dims.end())},
          0)
      .status();
}

Status LowerSqueeze(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  const Shape shape = node.ShapeOf(x);
  TENON_ASSIGN_OR_RETURN(const Dims given, ReadAxes(node));
  TENON_ASSIGN_OR_RETURN(const std::vector<int32_t> axes, node.Axes(given, shape.rank));
  Dims dims;
  for (int32_t i = 0; i < shape.rank; ++i) {
    const bool named = std::find(axes.begin(), axes.end(), i) != axes.end();
    if (named && shape[i] != 1) return InputError("dimension {} is {}, not 1", i, shape[i]);
    if (!named && !(axes.empty() && shape[i] == 1)) dims.push_back(shape[i]);
  }
  return node.Reshape(x, dims, 0).status();
}

Status LowerUnsqueeze(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  const Shape shape = node.ShapeOf(x);
  TENON_ASSIGN_OR_RETURN(const Dims given, ReadAxes(node));
  const size_t rank = static_cast<size_t>(shape.rank) + given.size();
  if (rank > kMaxRank) return InputError("{} dimensions, at most {} are supported", rank, kMaxRank);
  TENON_ASSIGN_OR_RETURN(const std::vector<int32_t> axes,
                         node.Axes(given, static_cast<int32_t>(rank)));
  Dims dims(rank, 0);
  for (int32_t axis : axes) dims[static_cast<size_t>(axis)] = 1;
  const int32_t* next = shape.dims;
  for (size_t i = 0; i < rank; ++i) {
    if (std::find(axes.begin(), axes.end(), static_cast<int32_t>(i)) == axes.end()) {
      dims[i] = *next++;
    }
  }
  return node.Reshape(x, dims, 0).status();
}

Status LowerTranspose(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  const int32_t rank = node.ShapeOf(x).rank;
  Dims given = node.Ints("perm");
  if (given.empty()) {
    for (int32_t i = rank - 1; i >= 0; --i) given.push_back(i);
  }
  if (given.size() != static_cast<size_t>(rank)) {
    return InputError("perm has {} values for {} dimensions", given.size(), rank);
  }
  TENON_ASSIGN_OR_RETURN(const std::vector<int32_t> permutation, node.Axes(given, rank));
  return node.Transpose(x, permutation, 0).status();
}

Status LowerExpand(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId shape, node.Input(1));
  TENON_ASSIGN_OR_RETURN(Dims dims, node.ConstantInts(shape));
  const Shape from = node.ShapeOf(x);
  const auto rank = static_cast<size_t>(from.rank);
  if (dims.size() < rank) dims.insert(dims.begin(), rank - dims.size(), 1);
  for (size_t i = 0; i < rank; ++i) {
    int64_t& dim = dims[dims.size() - rank + i];
    const int32_t have = from.dims[i];
    if (dim != have && dim != 1 && have != 1) {
      return InputError("dimension {} of size {} cannot become {}", i, have, dim);
    }
    if (dim == 1) dim = have;
  }
  TENON_ASSIGN_OR_RETURN(const Shape to, ShapeFromDims(dims));
  return node.Expand(x, to, 0).status();
}

/// How often each dimension is repeated. Before opset 6 one number, and its axis, which are of x's
/// type.
Result<Dims> ReadRepeats(Lowering& node, int32_t rank) {
  TENON_ASSIGN_OR_RETURN(const TensorId input, node.Input(1));
  if (node.opset() >= 6) return node.ConstantInts(input);
  TENON_ASSIGN_OR_RETURN(const TensorId axis_input, node.Input(2));
  TENON_ASSIGN_OR_RETURN(const std::vector<double> tiles, node.ConstantDoubles(input));
  TENON_ASSIGN_OR_RETURN(const std::vector<double> axes, node.ConstantDoubles(axis_input));
  const auto is_count = [](double value) { return value >= 0 && value <= INT32_MAX; };
  if (tiles.size() != 1 || axes.size() != 1 || !is_count(tiles[0]) || !is_count(axes[0])) {
    return InputError("tiles and axis must be one number each, and not negative");
  }
  TENON_ASSIGN_OR_RETURN(const int32_t axis, node.Axis(static_cast<int64_t>(axes[0]), rank));
  Dims repeats(static_cast<size_t>(rank), 1);
  repeats[static_cast<size_t>(axis)] = static_cast<int64_t>(tiles[0]);
  return repeats;
}

// Each axis in turn: [before, axis and all after] is repeated as [before, repeats, axis ...].
Status LowerTile(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const Dims repeats, ReadRepeats(node, node.ShapeOf(x).rank));
  Dims dims = DimsOf(node.ShapeOf(x));
  if (repeats.size() != dims.size()) {
    return InputError("{} repeats for {} dimensions", repeats.size(), dims.size());
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    if (repeats[i] == 1) continue;
    const auto axis = dims.begin() + static_cast<std::ptrdiff_t>(i);
    const int64_t before = Product(dims.begin(), axis);
    const int64_t rest = Product(axis, dims.end());
    TENON_ASSIGN_OR_RETURN(x, node.Reshape(x, {before, 1, rest}));
    TENON_ASSIGN_OR_RETURN(const Shape repeated, ShapeFromDims({before, repeats[i], rest}));
    TENON_ASSIGN_OR_RETURN(x, node.Expand(x, repeated));
    *axis *= repeats[i];
  }
  return node.Reshape(x, dims, 0).status();
}

Status LowerDepthToSpace(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  const Shape s = node.ShapeOf(x);
  const int64_t block = node.Int32("blocksize", 0);
  const std::string mode = node.Text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") return InputError("mode '{}' is not known", mode);
  if (s.rank != 4 || block < 1 || s[1] % (block * block) != 0) {
    return InputError("blocksize {} does not divide the channels of its input", block);
  }
  const int64_t channels = s[1] / (block * block);
  const Dims merged = {s[0], channels, s[2] * block, s[3] * block};
  if (mode == "DCR") {
    return Rearrange(node, x, {s[0], block, block, channels, s[2], s[3]}, {0, 3, 4, 1, 5, 2},
                     merged);
  }
  return Rearrange(node, x, {s[0], channels, block, block, s[2], s[3]}, {0, 1, 4, 2, 5, 3}, merged);
}

Status LowerSpaceToDepth(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  const Shape s = node.ShapeOf(x);
  const int64_t block = node.Int32("blocksize", 0);
  if (s.rank != 4 || block < 1 || s[2] % block != 0 || s[3] % block != 0) {
    return InputError("blocksize {} does not divide height and width of its input", block);
  }
  const int64_t height = s[2] / block;
  const int64_t width = s[3] / block;
  const std::string mode = node.Text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") return InputError("mode '{}' is not known", mode);
  const std::vector<int32_t> order = mode == "DCR" ? std::vector<int32_t>{0, 3, 5, 1, 2, 4}
                                                   : std::vector<int32_t>{0, 1, 3, 5, 2, 4};
  return Rearrange(node, x, {s[0], s[1], height, block, width, block}, order,
                   {s[0], s[1] * block * block, height, width});
}

constexpr LoweringRow kShapeOpsRows[] = {
    {"DepthToSpace", LowerDepthToSpace}, {"Dropout", LowerDropout},     {"Expand", LowerExpand},
    {"Flatten", LowerFlatten},           {"Identity", LowerIdentity},   {"Reshape", LowerReshape},
    {"SpaceToDepth", LowerSpaceToDepth}, {"Squeeze", LowerSqueeze},     {"Tile", LowerTile},
    {"Transpose", LowerTranspose},       {"Unsqueeze", LowerUnsqueeze},
};

}  // namespace

constexpr Span<const LoweringRow> kShapeLowerings = kShapeOpsRows;

}  // namespace tenon::converter
