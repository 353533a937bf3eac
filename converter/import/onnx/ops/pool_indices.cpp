#include "converter/import/onnx/ops/pool_indices.hpp"

#include <limits>

#include "converter/import/onnx/ops/indexing.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::converter {
namespace {

/// Where the elements of every window lie in a plane; behind its end in the padding, which comes
/// last: an element as low as the padding is found before it.
struct WindowPlaces {
  std::vector<double> element;  ///< [output][tap]: those inside row by row
  std::vector<double> given;    ///< the same as the node counts them
};

WindowPlaces PlacesOf(const Shape& x, const Shape& y, const PoolAttributes& pool,
                      bool columns_first) {
  WindowPlaces places;
  const int32_t height = x[2];
  const int32_t width = x[3];
  const int32_t taps = pool.kernel[0] * pool.kernel[1];
  for (int32_t out = 0; out < y[2] * y[3]; ++out) {
    int32_t outside = 0;
    for (int32_t tap = 0; tap < taps; ++tap) {
      const int32_t row =
          out / y[3] * pool.strides[0] - pool.pads[0] + tap / pool.kernel[1] * pool.dilations[0];
      const int32_t column =
          out % y[3] * pool.strides[1] - pool.pads[1] + tap % pool.kernel[1] * pool.dilations[1];
      const bool inside = row >= 0 && row < height && column >= 0 && column < width;
      if (!inside) {
        ++outside;
        continue;
      }
      places.element.push_back(row * width + column);
      places.given.push_back(columns_first ? column * height + row : row * width + column);
    }
    places.element.insert(places.element.end(), static_cast<size_t>(outside), height * width);
    places.given.insert(places.given.end(), static_cast<size_t>(outside), -1);
  }
  return places;
}

double LowestOf(DType dtype) {
  switch (dtype) {
    case DType::kI8:
      return INT8_MIN;
    case DType::kU8:
      return 0;
    case DType::kI32:
      return INT32_MIN;
    case DType::kI64:
      return static_cast<double>(INT64_MIN);
    default:
      return -std::numeric_limits<double>::infinity();
  }
}

/// Every plane [planes, H * W] with one more element, below all others.
Result<TensorId> WithLowest(Lowering& node, TensorId planes) {
  const DType dtype = node.DTypeOf(planes);
  const int32_t dims[] = {node.ShapeOf(planes)[0], 1};
  TENON_ASSIGN_OR_RETURN(const TensorId lowest, node.Scalar("lowest", dtype, LowestOf(dtype)));
  TENON_ASSIGN_OR_RETURN(const TensorId column, node.Expand(lowest, Shape(dims, 2)));
  ConcatAttributes concat;
  concat.axis = 1;
  return node.Emit(OpKind::kConcat, {planes, column}, Attributes(concat));
}

}  // namespace

Status EmitMaxPoolIndices(Lowering& node, TensorId x, const PoolAttributes& pool,
                          bool columns_first) {
  const Shape in = node.ShapeOf(x);
  TENON_ASSIGN_OR_RETURN(const TensorId y,
                         node.Emit(OpKind::kMaxPool, {x}, Attributes(pool)));  // for its shape
  const Shape out = node.ShapeOf(y);
  const int64_t planes = int64_t{in[0]} * in[1];
  const int64_t outputs = int64_t{out[2]} * out[3];
  const int64_t taps = int64_t{pool.kernel[0]} * pool.kernel[1];
  constexpr int64_t kMostPlaces = 1 << 24;
  if (outputs * taps > kMostPlaces) {
    return InputError("its windows have {} elements, of which indices name at most {}",
                      outputs * taps, kMostPlaces);
  }
  const WindowPlaces places = PlacesOf(in, out, pool, columns_first);
  TENON_ASSIGN_OR_RETURN(TensorId windows, node.Reshape(x, {planes, int64_t{in[2]} * in[3]}));
  TENON_ASSIGN_OR_RETURN(windows, WithLowest(node, windows));
  TENON_ASSIGN_OR_RETURN(const Shape all, ShapeFromDims({outputs * taps}));
  TENON_ASSIGN_OR_RETURN(const TensorId elements,
                         node.Constant("elements", DType::kI64, all, places.element));
  TENON_ASSIGN_OR_RETURN(windows, EmitGather(node, windows, elements, 1));
  TENON_ASSIGN_OR_RETURN(windows, node.Reshape(windows, {planes, outputs, taps}));
  TopKAttributes largest;
  largest.axis = 2;
  TENON_ASSIGN_OR_RETURN(const TensorId tap,
                         node.Emit(OpKind::kTopK, {windows}, Attributes(largest)));
  std::vector<double> first_taps;
  for (int64_t i = 0; i < outputs; ++i) first_taps.push_back(static_cast<double>(i * taps));
  TENON_ASSIGN_OR_RETURN(const Shape column, ShapeFromDims({outputs, 1}));
  TENON_ASSIGN_OR_RETURN(const TensorId first,
                         node.Constant("first", DType::kI64, column, first_taps));
  TENON_ASSIGN_OR_RETURN(TensorId place, node.Binary(BinaryFunction::kAdd, tap, first));
  TENON_ASSIGN_OR_RETURN(const TensorId given,
                         node.Constant("places", DType::kI64, all, places.given));
  TENON_ASSIGN_OR_RETURN(place, EmitGather(node, given, place, 0));
  std::vector<double> starts;
  for (int64_t i = 0; i < planes; ++i) {
    starts.push_back(static_cast<double>(i * in[2] * in[3]));
  }
  TENON_ASSIGN_OR_RETURN(const Shape slab, ShapeFromDims({planes, 1, 1}));
  TENON_ASSIGN_OR_RETURN(const TensorId start, node.Constant("starts", DType::kI64, slab, starts));
  TENON_ASSIGN_OR_RETURN(place, node.Binary(BinaryFunction::kAdd, place, start));
  return node.Reshape(place, DimsOf(out), 1).status();
}

}  // namespace tenon::converter
