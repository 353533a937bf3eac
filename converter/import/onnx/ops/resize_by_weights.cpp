#include "converter/import/onnx/ops/resize_by_weights.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "converter/import/onnx/ops/ops.hpp"
#include "runtime/ops/resize_positions.hpp"

namespace tenon::converter {
namespace {

/// Where the positions of one output dimension lie in the input.
struct ResizedDimension {
  int32_t axis = 0;
  std::vector<float> coordinates;
};

ResizeAxis AxisOf(const ResizedDimension& dimension, int32_t in) {
  return {in, static_cast<int32_t>(dimension.coordinates.size()), 1.0F};
}

/// Coordinates beyond this are refused: they are made integers.
constexpr float kFarthest = 1 << 30;

bool IsOutside(float coordinate, int32_t in) {
  return coordinate < 0.0F || coordinate > static_cast<float>(in - 1);
}

Result<TensorId> GatherNearest(Lowering& node, TensorId x, const ResizeAttributes& attributes,
                               const ResizedDimension& dimension) {
  const ResizeAxis axis = AxisOf(dimension, node.ShapeOf(x)[dimension.axis]);
  std::vector<double> positions;
  for (const float coordinate : dimension.coordinates) {
    positions.push_back(NearestPosition(attributes, axis, coordinate));
  }
  TENON_ASSIGN_OR_RETURN(const TensorId indices,
                         node.Constant("positions", DType::kI64, Shape({axis.out}), positions));
  return node.Emit(OpKind::kGather, {x, indices}, Attributes(GatherAttributes{dimension.axis}));
}

/// [in, out]: what each input position gives to each output position.
template <int kTaps>
std::vector<double> WeightMatrix(const ResizeAttributes& attributes, const ResizeAxis& axis,
                                 const std::vector<float>& coordinates) {
  std::vector<double> weights(static_cast<size_t>(axis.in) * coordinates.size(), 0.0);
  for (size_t o = 0; o < coordinates.size(); ++o) {
    ImageTaps<kTaps> taps;
    FindResizeTaps(attributes, axis, coordinates[o], 1, taps);
    for (int i = 0; i < kTaps; ++i) {
      const auto row = static_cast<size_t>(taps.offset[i]);
      weights[row * coordinates.size() + o] += static_cast<double>(taps.weight[i]);
    }
  }
  return weights;
}

Result<TensorId> MultiplyByWeights(Lowering& node, TensorId x, const ResizeAttributes& attributes,
                                   const ResizedDimension& dimension) {
  const Shape shape = node.ShapeOf(x);
  const ResizeAxis axis = AxisOf(dimension, shape[dimension.axis]);
  TENON_RETURN_IF_ERROR(node.CheckRoomFor(int64_t{axis.in} * axis.out));
  const std::vector<double> values = attributes.mode == ResizeMode::kCubic
                                         ? WeightMatrix<4>(attributes, axis, dimension.coordinates)
                                         : WeightMatrix<2>(attributes, axis, dimension.coordinates);
  TENON_ASSIGN_OR_RETURN(const TensorId weights, node.Constant("weights", node.DTypeOf(x),
                                                               Shape({axis.in, axis.out}), values));
  // The dimension changes places with the last one, and back.
  std::vector<int32_t> order(static_cast<size_t>(shape.rank));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
  std::swap(order[static_cast<size_t>(dimension.axis)], order.back());
  TENON_ASSIGN_OR_RETURN(const TensorId moved, node.Transpose(x, order));
  TENON_ASSIGN_OR_RETURN(const TensorId product, EmitMatMul(node, OpKind::kMatMul, {moved, weights},
                                                            Attributes(MatMulAttributes())));
  return node.Transpose(product, order);
}

bool ReachesOutside(const ResizedDimension& dimension, int32_t in) {
  return std::any_of(dimension.coordinates.begin(), dimension.coordinates.end(),
                     [in](float coordinate) { return IsOutside(coordinate, in); });
}

/// A bool for each output position, of the shape that broadcasts along the dimension.
Result<TensorId> OutsideOf(Lowering& node, const ResizedDimension& dimension, const Shape& x) {
  Shape shape(x);
  std::vector<double> outside;
  for (int32_t i = 0; i < x.rank; ++i) shape.dims[i] = 1;
  shape.dims[dimension.axis] = static_cast<int32_t>(dimension.coordinates.size());
  for (const float coordinate : dimension.coordinates) {
    outside.push_back(IsOutside(coordinate, x[dimension.axis]) ? 1.0 : 0.0);
  }
  return node.Constant("outside", DType::kBool, shape, outside);
}

/// The node's first output from `x`; with `outside`, that is what lies outside the input, else the
/// edge's element.
Result<TensorId> EmitDimensions(Lowering& node, TensorId x, const ResizeAttributes& attributes,
                                const std::vector<ResizedDimension>& dimensions,
                                std::optional<float> outside, int output) {
  const Shape shape = node.ShapeOf(x);
  const bool nearest = attributes.mode == ResizeMode::kNearest;
  TensorId y = x;
  for (const ResizedDimension& dimension : dimensions) {
    TENON_ASSIGN_OR_RETURN(y, nearest ? GatherNearest(node, y, attributes, dimension)
                                      : MultiplyByWeights(node, y, attributes, dimension));
  }
  for (const ResizedDimension& dimension : dimensions) {
    if (!outside.has_value() || !ReachesOutside(dimension, shape[dimension.axis])) continue;
    TENON_ASSIGN_OR_RETURN(const TensorId mask, OutsideOf(node, dimension, shape));
    TENON_ASSIGN_OR_RETURN(const TensorId value, node.Scalar("outside_value", node.DTypeOf(x),
                                                             static_cast<double>(*outside)));
    TENON_ASSIGN_OR_RETURN(y, node.Emit(OpKind::kSelect, {mask, value, y}, Attributes()));
  }
  if (output >= 0) node.Alias(output, y);
  return y;
}

}  // namespace

Result<TensorId> EmitSymmetricResize(Lowering& node, TensorId x, const ResizeAttributes& attributes,
                                     int output) {
  const Shape shape = node.ShapeOf(x);
  if (shape.Elements() == 0) return InputError("its input is empty");
  std::vector<ResizedDimension> dimensions;
  for (int32_t i = 0; i < shape.rank; ++i) {
    const float scale = attributes.scales[i];
    if (scale == 1.0F && attributes.sizes[i] == shape[i]) continue;
    const auto in = static_cast<float>(shape[i]);
    const float adjustment = static_cast<float>(attributes.sizes[i]) / (scale * in);
    const float offset = in / 2.0F * (1.0F - adjustment);
    ResizedDimension dimension{i, {}};
    TENON_RETURN_IF_ERROR(node.CheckRoomFor(attributes.sizes[i]));
    for (int32_t o = 0; o < attributes.sizes[i]; ++o) {
      dimension.coordinates.push_back(offset + (static_cast<float>(o) + 0.5F) / scale - 0.5F);
    }
    dimensions.push_back(std::move(dimension));
  }
  return EmitDimensions(node, x, attributes, dimensions, std::nullopt, output);
}

Result<TensorId> EmitCroppedResize(Lowering& node, TensorId x, const ResizeAttributes& attributes,
                                   const std::vector<ResizedRegion>& regions, float outside,
                                   int output) {
  const Shape shape = node.ShapeOf(x);
  if (shape.Elements() == 0) return InputError("its input is empty");
  std::vector<ResizedDimension> dimensions;
  for (const ResizedRegion& region : regions) {
    const int32_t out = attributes.sizes[region.axis];
    const bool whole = region.begin == 0.0F && region.end == 1.0F;
    if (whole && out == shape[region.axis]) continue;
    const auto last = static_cast<float>(shape[region.axis] - 1);
    const float step =
        out > 1 ? (region.end - region.begin) * last / static_cast<float>(out - 1) : 0.0F;
    const float first = out > 1 ? region.begin * last : 0.5F * (region.begin + region.end) * last;
    ResizedDimension dimension{region.axis, {}};
    TENON_RETURN_IF_ERROR(node.CheckRoomFor(out));
    for (int32_t o = 0; o < out; ++o) {
      const float coordinate = first + static_cast<float>(o) * step;
      if (!(std::abs(coordinate) < kFarthest)) return InputError("its region is out of range");
      dimension.coordinates.push_back(coordinate);
    }
    dimensions.push_back(std::move(dimension));
  }
  return EmitDimensions(node, x, attributes, dimensions, outside, output);
}

}  // namespace tenon::converter
