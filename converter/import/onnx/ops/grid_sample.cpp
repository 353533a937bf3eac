// GridSample: for each point of the grid the pixels around it are gathered, weighted and added up.
#include <array>
#include <limits>
#include <string>

#include "converter/import/onnx/ops/indexing.hpp"
#include "converter/import/onnx/ops/ops.hpp"

namespace tenon::converter {
namespace {

constexpr BinaryFunction kAdd = BinaryFunction::kAdd;
constexpr BinaryFunction kSub = BinaryFunction::kSub;
constexpr BinaryFunction kMul = BinaryFunction::kMul;

enum class Padding { kZeros, kBorder, kReflection };

/// Formulas on vectors with one f32 for each point of the grid.
class Points {
 public:
  explicit Points(Lowering& node) : node_(node) {}

  Result<TensorId> Number(double value) { return node_.Scalar("number", DType::kF32, value); }

  Result<TensorId> With(BinaryFunction function, TensorId x, double value) {
    TENON_ASSIGN_OR_RETURN(const TensorId number, Number(value));
    return node_.Binary(function, x, number);
  }

  Result<TensorId> Apply(UnaryFunction function, TensorId x, float a = 0.0F, float b = 0.0F) {
    return node_.Unary(x, {function, a, b});
  }

  /// ((a x + b) x + c) x + d
  Result<TensorId> Cubic(TensorId x, double a, double b, double c, double d) {
    TENON_ASSIGN_OR_RETURN(TensorId sum, With(kMul, x, a));
    TENON_ASSIGN_OR_RETURN(sum, With(kAdd, sum, b));
    TENON_ASSIGN_OR_RETURN(sum, node_.Binary(kMul, sum, x));
    TENON_ASSIGN_OR_RETURN(sum, With(kAdd, sum, c));
    TENON_ASSIGN_OR_RETURN(sum, node_.Binary(kMul, sum, x));
    return With(kAdd, sum, d);
  }

  /// x reflected at both ends until it lies within [low, high].
  Result<TensorId> Reflect(TensorId x, double low, double high) {
    const double range = high - low;
    if (range <= 0) return With(kMul, x, 0);
    TENON_ASSIGN_OR_RETURN(TensorId distance, With(kSub, x, low));
    TENON_ASSIGN_OR_RETURN(distance, Apply(UnaryFunction::kAbs, distance));
    TENON_ASSIGN_OR_RETURN(distance, With(BinaryFunction::kFmod, distance, 2 * range));
    TENON_ASSIGN_OR_RETURN(const TensorId end, Number(2 * range));
    TENON_ASSIGN_OR_RETURN(const TensorId back, node_.Binary(kSub, end, distance));
    TENON_ASSIGN_OR_RETURN(distance, node_.Binary(BinaryFunction::kMin, distance, back));
    return With(kAdd, distance, low);
  }

 private:
  Lowering& node_;
};

/// One pixel that counts, along one axis, for every point of the grid.
struct Tap {
  TensorId place = kNone;   ///< i32, inside the image
  TensorId weight = kNone;  ///< f32
};

struct Axis {
  int64_t size = 1;
  Padding padding = Padding::kZeros;
  bool align_corners = false;

  [[nodiscard]] double Low() const { return align_corners ? 0.0 : -0.5; }
  [[nodiscard]] double High() const {
    return static_cast<double>(size) - (align_corners ? 1.0 : 0.5);
  }
};

/// Coordinates in [-1, 1] as places of pixels; with a padding that goes by coordinates, those
/// beyond the image brought back. With cubic the border goes by the pixels that count (Inside), as
/// PyTorch and ONNX Runtime have it; ONNX's reference brings coordinates back there too.
Result<TensorId> PlacesOf(Lowering& node, const Axis& axis, TensorId coordinate,
                          const std::string& mode) {
  Points points(node);
  const double scale = static_cast<double>(axis.align_corners ? axis.size - 1 : axis.size) / 2.0;
  TENON_ASSIGN_OR_RETURN(TensorId x, points.With(kAdd, coordinate, 1));
  TENON_ASSIGN_OR_RETURN(x, points.With(kMul, x, scale));
  if (!axis.align_corners) {
    TENON_ASSIGN_OR_RETURN(x, points.With(kSub, x, 0.5));
  }
  if (mode == "nearest") {
    TENON_ASSIGN_OR_RETURN(x, points.Apply(UnaryFunction::kRound, x));
  }
  if (axis.padding == Padding::kReflection) return points.Reflect(x, axis.Low(), axis.High());
  if (axis.padding == Padding::kZeros || mode == "cubic") return x;
  return points.Apply(UnaryFunction::kClip, x, 0.0F, static_cast<float>(axis.size - 1));
}

/// A pixel's whole-numbered place, brought into the image; its weight becomes 0 where it was
/// outside and the padding is zeros.
Result<Tap> Inside(Lowering& node, const Axis& axis, TensorId place, TensorId weight) {
  Points points(node);
  const auto last = static_cast<float>(axis.size - 1);
  if (axis.padding == Padding::kReflection) {
    TENON_ASSIGN_OR_RETURN(place, points.Reflect(place, axis.Low(), axis.High()));
    TENON_ASSIGN_OR_RETURN(place, points.Apply(UnaryFunction::kRound, place));
  }
  TENON_ASSIGN_OR_RETURN(const TensorId inside,
                         points.Apply(UnaryFunction::kClip, place, 0.0F, last));
  if (axis.padding == Padding::kZeros) {
    TENON_ASSIGN_OR_RETURN(const TensorId same, node.Binary(BinaryFunction::kEqual, place, inside));
    TENON_ASSIGN_OR_RETURN(const TensorId zero, points.Number(0));
    TENON_ASSIGN_OR_RETURN(weight, Select(node, same, weight, zero));
  }
  TENON_ASSIGN_OR_RETURN(place, node.Cast(inside, DType::kI32));
  return Tap{place, weight};
}

/// Keys' cubic with A = -0.75 for the pixels at -1, 0, 1 and 2 from the one below, t after it.
Result<TensorId> CubicWeight(Points& points, TensorId t, int pixel) {
  constexpr double kA = -0.75;
  switch (pixel) {
    case 0:
      return points.Cubic(t, kA, -2 * kA, kA, 0);
    case 1:
      return points.Cubic(t, kA + 2, -(kA + 3), 0, 1);
    case 2:
      return points.Cubic(t, -(kA + 2), 2 * kA + 3, -kA, 0);
    default:
      return points.Cubic(t, -kA, kA, 0, 0);
  }
}

Result<std::vector<Tap>> TapsOf(Lowering& node, const Axis& axis, TensorId coordinate,
                                const std::string& mode) {
  Points points(node);
  const bool nearest = mode == "nearest";
  TENON_ASSIGN_OR_RETURN(const TensorId x, PlacesOf(node, axis, coordinate, mode));
  TENON_ASSIGN_OR_RETURN(const TensorId below,
                         points.Apply(nearest ? UnaryFunction::kRound : UnaryFunction::kFloor, x));
  TENON_ASSIGN_OR_RETURN(const TensorId fraction, node.Binary(kSub, x, below));
  const int first = mode == "cubic" ? -1 : 0;
  const int count = nearest ? 1 : (mode == "cubic" ? 4 : 2);
  std::vector<Tap> taps;
  for (int i = 0; i < count; ++i) {
    TENON_ASSIGN_OR_RETURN(const TensorId place, points.With(kAdd, below, first + i));
    TensorId weight = fraction;
    if (nearest || (count == 2 && i == 0)) {
      TENON_ASSIGN_OR_RETURN(const TensorId one, points.Number(1));
      TENON_ASSIGN_OR_RETURN(const TensorId none, points.With(kMul, fraction, 0));
      TENON_ASSIGN_OR_RETURN(weight, node.Binary(kSub, one, nearest ? none : fraction));
    } else if (count == 4) {
      TENON_ASSIGN_OR_RETURN(weight, CubicWeight(points, fraction, i));
    }
    TENON_ASSIGN_OR_RETURN(const Tap tap, Inside(node, axis, place, weight));
    taps.push_back(tap);
  }
  return taps;
}

/// The weighted sum of the pixels: [N OH OW, C]. `rows`: the image as [N H W, C]; `starts`: i32,
/// the row where each point's image begins.
Result<TensorId> Sum(Lowering& node, TensorId rows, TensorId starts, int64_t width,
                     const std::vector<Tap>& down, const std::vector<Tap>& across) {
  const int64_t count = node.ShapeOf(starts)[0];
  TENON_ASSIGN_OR_RETURN(const TensorId stride,
                         node.Scalar("width", DType::kI32, static_cast<double>(width)));
  TensorId sum = kNone;
  for (const Tap& y : down) {
    TENON_ASSIGN_OR_RETURN(TensorId line, node.Binary(kMul, y.place, stride));
    TENON_ASSIGN_OR_RETURN(line, node.Binary(kAdd, line, starts));
    for (const Tap& x : across) {
      TENON_ASSIGN_OR_RETURN(const TensorId place, node.Binary(kAdd, line, x.place));
      TENON_ASSIGN_OR_RETURN(const TensorId pixels, EmitGather(node, rows, place, 0));
      TENON_ASSIGN_OR_RETURN(TensorId weight, node.Binary(kMul, y.weight, x.weight));
      TENON_ASSIGN_OR_RETURN(weight, node.Reshape(weight, {count, 1}));
      TENON_ASSIGN_OR_RETURN(const TensorId part, node.Binary(kMul, pixels, weight));
      if (sum == kNone) {
        sum = part;
      } else {
        TENON_ASSIGN_OR_RETURN(sum, node.Binary(kAdd, sum, part));
      }
    }
  }
  return sum;
}

Result<Padding> ReadPadding(Lowering& node) {
  const std::string padding = node.Text("padding_mode", "zeros");
  if (padding == "zeros") return Padding::kZeros;
  if (padding == "border") return Padding::kBorder;
  if (padding == "reflection") return Padding::kReflection;
  return InputError("padding_mode '{}' is not known", padding);
}

Status LowerGridSample(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId grid, node.Input(1));
  const Shape image = node.ShapeOf(x);
  const Shape points = node.ShapeOf(grid);
  if (image.rank != 4 || points.rank != 4 || points[3] != 2 || points[0] != image[0]) {
    return InputError("only images [N, C, H, W] with a grid [N, H, W, 2] are supported");
  }
  if (node.DTypeOf(x) != DType::kF32 || node.DTypeOf(grid) != DType::kF32) {
    return InputError("its operands must be f32");
  }
  if (image.Elements() == 0 || points.Elements() == 0) return InputError("an operand is empty");
  std::string mode = node.Text("mode", "bilinear");
  if (mode == "bilinear") mode = "linear";  // as opset 20 calls them
  if (mode == "bicubic") mode = "cubic";
  if (mode != "linear" && mode != "cubic" && mode != "nearest") {
    return InputError("mode '{}' is not known", mode);
  }
  Axis axis;
  TENON_ASSIGN_OR_RETURN(axis.padding, ReadPadding(node));
  axis.align_corners = node.Flag("align_corners", false);
  const int64_t count = points.Elements() / 2;
  std::array<std::vector<Tap>, 2> taps;  // across, down
  for (int i = 0; i < 2; ++i) {
    SliceAttributes slice;
    slice.rank = 2;
    slice.sizes[0] = static_cast<int32_t>(count);
    slice.sizes[1] = slice.steps[0] = slice.steps[1] = 1;
    slice.begins[1] = i;
    axis.size = image[3 - i];
    TENON_ASSIGN_OR_RETURN(TensorId coordinate, node.Reshape(grid, {count, 2}));
    TENON_ASSIGN_OR_RETURN(coordinate, node.Slice(coordinate, slice));
    TENON_ASSIGN_OR_RETURN(coordinate, node.Reshape(coordinate, {count}));
    TENON_ASSIGN_OR_RETURN(taps[static_cast<size_t>(i)], TapsOf(node, axis, coordinate, mode));
  }
  const int64_t pixels = int64_t{image[2]} * image[3];
  // Integers of 32 bits are computed several at a time.
  if (pixels * image[0] > std::numeric_limits<int32_t>::max()) {
    return InputError("its images have more than 2^31 pixels");
  }
  TENON_RETURN_IF_ERROR(node.CheckRoomFor(count));
  std::vector<double> starts(static_cast<size_t>(count));
  const int64_t each = count / points[0];
  for (int64_t i = 0; i < count; ++i) {
    const int64_t first_row = i / each * pixels;
    starts[static_cast<size_t>(i)] = static_cast<double>(first_row);
  }
  TENON_ASSIGN_OR_RETURN(const Shape vector, ShapeFromDims({count}));
  TENON_ASSIGN_OR_RETURN(const TensorId start,
                         node.Constant("starts", DType::kI32, vector, starts));
  TENON_ASSIGN_OR_RETURN(TensorId rows, node.Transpose(x, {0, 2, 3, 1}));
  TENON_ASSIGN_OR_RETURN(rows, node.Reshape(rows, {image[0] * pixels, image[1]}));
  TENON_ASSIGN_OR_RETURN(TensorId y, Sum(node, rows, start, image[3], taps[1], taps[0]));
  TENON_ASSIGN_OR_RETURN(y, node.Reshape(y, {points[0], points[1], points[2], image[1]}));
  return node.Transpose(y, {0, 3, 1, 2}, 0).status();
}

constexpr LoweringRow kRows[] = {
    {"GridSample", LowerGridSample, {}, "f32, two spatial dimensions"},
    {"GridSample", LowerGridSample, "com.microsoft", "f32, two spatial dimensions"},
};

}  // namespace

constexpr Span<const LoweringRow> kGridSampleLowerings = kRows;

}  // namespace tenon::converter
