// DFT, STFT, window functions and MelWeightMatrix: the tables are constants, the transforms are
// matrix products and convolutions with them.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "converter/import/fourier_products.hpp"
#include "converter/import/onnx/ops/indexing.hpp"
#include "converter/import/onnx/ops/ops.hpp"
#include "converter/ir/elements.hpp"

namespace tenon::converter {
namespace {

using Ints = std::vector<int64_t>;

using fourier::kLongestTransform;
using fourier::Transform;

Result<int64_t> ScalarInput(Lowering& node, int index) {
  TENON_ASSIGN_OR_RETURN(const TensorId input, node.Input(index));
  TENON_ASSIGN_OR_RETURN(const Ints values, node.ConstantInts(input));
  if (values.size() != 1) return InputError("input {} is not one number", index);
  return values[0];
}

Status LowerDft(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(TensorId x, node.Input(0));
  const Shape shape = node.ShapeOf(x);
  if (shape.rank < 2) return InputError("its input has {} dimensions", shape.rank);
  int64_t given_axis = node.opset() < 20 ? node.Int("axis", 1) : -2;
  if (node.opset() >= 20 && node.HasInput(2)) {
    TENON_ASSIGN_OR_RETURN(given_axis, ScalarInput(node, 2));
  }
  TENON_ASSIGN_OR_RETURN(const int32_t axis, node.Axis(given_axis, shape.rank));
  if (axis == shape.rank - 1) return InputError("axis is that of real and imaginary parts");
  Transform t;
  t.inverse = node.Flag("inverse", false);
  t.parts = shape[shape.rank - 1];
  t.length = shape[axis];
  if (node.HasInput(1)) {
    TENON_ASSIGN_OR_RETURN(t.length, ScalarInput(node, 1));
  }
  const bool one_sided = node.Flag("onesided", false);
  if (one_sided && t.inverse) return InputError("onesided and inverse are not supported together");
  TENON_RETURN_IF_ERROR(fourier::CheckTransform(t));
  t.bins = one_sided ? t.length / 2 + 1 : t.length;
  // The transformed axis goes before the last one, where both are a row of the product.
  std::vector<int32_t> permutation;
  for (int32_t i = 0; i + 1 < shape.rank; ++i) {
    if (i != axis) permutation.push_back(i);
  }
  permutation.insert(permutation.end(), {axis, shape.rank - 1});
  TENON_ASSIGN_OR_RETURN(x, node.Transpose(x, permutation));
  Ints dims = DimsOf(node.ShapeOf(x));
  const int64_t points = shape[axis];
  const int64_t row = points * t.parts;
  if (row == 0) return InputError("its input has no points");
  TENON_ASSIGN_OR_RETURN(x, node.Reshape(x, {shape.Elements() / row, row}));
  TENON_ASSIGN_OR_RETURN(TensorId y, fourier::TransformRows(node, x, t, points));
  dims[dims.size() - 2] = t.bins;
  dims.back() = 2;
  TENON_ASSIGN_OR_RETURN(y, node.Reshape(y, dims));
  std::vector<int32_t> back(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) {
    back[static_cast<size_t>(permutation[i])] = static_cast<int32_t>(i);
  }
  return node.Transpose(y, back, 0).status();
}

/// The window's values, or ones.
Result<std::vector<double>> ReadWindowValues(Lowering& node, int64_t& length) {
  std::vector<double> window;
  if (node.HasInput(2)) {
    TENON_ASSIGN_OR_RETURN(const TensorId input, node.Input(2));
    TENON_ASSIGN_OR_RETURN(window, node.ConstantDoubles(input));
    length = static_cast<int64_t>(window.size());
  }
  if (node.HasInput(3)) {
    TENON_ASSIGN_OR_RETURN(length, ScalarInput(node, 3));
  }
  if (window.empty())
    window.assign(static_cast<size_t>(std::clamp<int64_t>(length, 0, kLongestTransform)), 1.0);
  if (static_cast<int64_t>(window.size()) != length) {
    return InputError("its window has {} values for frames of {}", window.size(), length);
  }
  return window;
}

// The frames' transforms are a convolution along time: [B, parts, 1, L] to [B, 2 bins, 1, frames].
// A signal of two dimensions, [B, L], is real: not in ONNX's words, but what ONNX Runtime takes.
Status LowerStft(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(TensorId x, node.Input(0));
  const Shape shape = node.ShapeOf(x);
  if (shape.rank != 2 && shape.rank != 3) {
    return InputError("its signal has {} dimensions instead of 2 or 3", shape.rank);
  }
  TENON_ASSIGN_OR_RETURN(const int64_t step, ScalarInput(node, 1));
  Transform t;
  t.parts = shape.rank == 2 ? 1 : shape[2];
  TENON_ASSIGN_OR_RETURN(const std::vector<double> window, ReadWindowValues(node, t.length));
  TENON_RETURN_IF_ERROR(fourier::CheckTransform(t));
  const bool one_sided = node.Flag("onesided", true);
  if (one_sided && t.parts == 2) return InputError("onesided is not supported for complex signals");
  if (step < 1 || t.length > shape[1]) {
    return InputError("frames of {} every {} do not fit a signal of {}", t.length, step, shape[1]);
  }
  t.bins = one_sided ? t.length / 2 + 1 : t.length;
  std::vector<double> values;
  for (int64_t out = 0; out < t.bins * 2; ++out) {
    for (int64_t from = 0; from < t.parts; ++from) {
      for (int64_t n = 0; n < t.length; ++n) {
        values.push_back(window[static_cast<size_t>(n)] *
                         fourier::Weight(t, n, from, out / 2, out % 2));
      }
    }
  }
  TENON_ASSIGN_OR_RETURN(const Shape kernel, ShapeFromDims({t.bins * 2, t.parts, 1, t.length}));
  TENON_ASSIGN_OR_RETURN(const TensorId weights,
                         node.Constant("transform", node.DTypeOf(x), kernel, values));
  if (t.parts != 1) {
    TENON_ASSIGN_OR_RETURN(x, node.Transpose(x, {0, 2, 1}));
  }
  TENON_ASSIGN_OR_RETURN(x, node.Reshape(x, {shape[0], t.parts, 1, shape[1]}));
  ConvAttributes conv;
  // However far the next frame would be: beyond the signal there is none.
  conv.strides[1] = static_cast<int32_t>(std::min<int64_t>(step, shape[1]));
  TENON_ASSIGN_OR_RETURN(TensorId y, node.Emit(OpKind::kConv, {x, weights}, Attributes(conv)));
  const int64_t frames = node.ShapeOf(y)[3];
  TENON_ASSIGN_OR_RETURN(y, node.Reshape(y, {shape[0], t.bins, 2, frames}));
  return node.Transpose(y, {0, 3, 1, 2}, 0).status();
}

struct WindowRow {
  std::string_view op_type;
  double a0;  ///< a0 - a1 cos(x) + a2 cos(2 x)
  double a1;
  double a2;
};

constexpr WindowRow kWindows[] = {
    {"BlackmanWindow", 0.42, 0.5, 0.08},
    {"HammingWindow", 25.0 / 46.0, 21.0 / 46.0, 0.0},
    {"HannWindow", 0.5, 0.5, 0.0},
};

Status LowerWindow(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const int64_t size, ScalarInput(node, 0));
  if (size < 0 || size > 1 << 24) return InputError("its size {} is out of range", size);
  TENON_ASSIGN_OR_RETURN(const DType dtype, DTypeFromOnnx(node.Int32("output_datatype", 1)));
  const bool periodic = node.Flag("periodic", true);
  const auto period = static_cast<double>(std::max<int64_t>(1, periodic ? size : size - 1));
  std::vector<double> values(static_cast<size_t>(size));
  for (const WindowRow& row : kWindows) {
    if (row.op_type != node.op_type()) continue;
    for (size_t i = 0; i < values.size(); ++i) {
      const double x = 2.0 * std::numbers::pi * static_cast<double>(i) / period;
      values[i] = row.a0 - row.a1 * std::cos(x) + row.a2 * std::cos(2.0 * x);
    }
  }
  TENON_ASSIGN_OR_RETURN(const Shape shape, ShapeFromDims({size}));
  return node.ConstantOutput(0, TensorData{dtype, shape, WriteElements(dtype, values)});
}

/// Hertz, on the mel scale and back.
double MelOf(double hertz) { return 2595.0 * std::log10(1.0 + hertz / 700.0); }
double HertzOf(double mel) { return 700.0 * (std::pow(10.0, mel / 2595.0) - 1.0); }

struct MelFilters {
  int64_t filters = 0;
  int64_t bins = 0;         ///< of the spectrum
  std::vector<int64_t> at;  ///< bins where filters begin, peak and end: filters + 2
};

/// Column i: a triangle from bin at[i] over its peak at[i + 1] to at[i + 2].
std::vector<double> TrianglesOf(const MelFilters& mel) {
  std::vector<double> values(static_cast<size_t>(mel.bins * mel.filters));
  const auto weight = [&](int64_t bin, int64_t filter) -> double& {
    return values[static_cast<size_t>(bin * mel.filters + filter)];
  };
  for (int64_t i = 0; i < mel.filters; ++i) {
    const int64_t* at = mel.at.data() + i;
    if (at[0] == at[1]) weight(at[1], i) = 1.0;
    for (int64_t bin = at[0]; at[0] < at[1] && bin <= at[1]; ++bin) {
      weight(bin, i) = static_cast<double>(bin - at[0]) / static_cast<double>(at[1] - at[0]);
    }
    for (int64_t bin = at[1]; bin < at[2]; ++bin) {
      weight(bin, i) = static_cast<double>(at[2] - bin) / static_cast<double>(at[2] - at[1]);
    }
  }
  return values;
}

Result<double> RealInput(Lowering& node, int index) {
  TENON_ASSIGN_OR_RETURN(const TensorId id, node.Input(index));
  TENON_ASSIGN_OR_RETURN(const std::vector<double> values, node.ConstantDoubles(id));
  if (values.size() != 1) return InputError("input {} is no single number", index);
  return values[0];
}

Status LowerMelWeightMatrix(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const int64_t filters, ScalarInput(node, 0));
  TENON_ASSIGN_OR_RETURN(const int64_t length, ScalarInput(node, 1));
  TENON_ASSIGN_OR_RETURN(const int64_t rate, ScalarInput(node, 2));
  TENON_ASSIGN_OR_RETURN(const double low, RealInput(node, 3));
  TENON_ASSIGN_OR_RETURN(const double high, RealInput(node, 4));
  TENON_ASSIGN_OR_RETURN(const DType dtype, DTypeFromOnnx(node.Int32("output_datatype", 1)));
  constexpr int64_t kMost = 1 << 16;
  if (filters < 1 || filters > kMost || length < 1 || length > kMost || rate < 1 ||
      !(low >= 0.0 && high >= low)) {
    return InputError("its numbers are out of range");
  }
  MelFilters mel = {filters, length / 2 + 1, {}};
  const double step = (MelOf(high) - MelOf(low)) / static_cast<double>(filters + 2);
  for (int64_t i = 0; i < filters + 2; ++i) {
    const double hertz = HertzOf(MelOf(low) + static_cast<double>(i) * step);
    const double bin =
        std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate));
    if (bin > static_cast<double>(mel.bins)) return InputError("its filters leave the spectrum");
    mel.at.push_back(static_cast<int64_t>(bin));
  }
  if (mel.at[static_cast<size_t>(filters)] >= mel.bins) {
    return InputError("its filters leave the spectrum");
  }
  TENON_ASSIGN_OR_RETURN(const Shape shape, ShapeFromDims({mel.bins, filters}));
  return node.ConstantOutput(0, TensorData{dtype, shape, WriteElements(dtype, TrianglesOf(mel))});
}

constexpr LoweringRow kOtherSignalRows[] = {
    {"MelWeightMatrix", LowerMelWeightMatrix, {}, "its inputs constant"},
    {"DFT", LowerDft, {}, "up to 8192 points; onesided not with inverse"},
    {"STFT", LowerStft, {}, "up to 8192 points; window, frame_step and frame_length constant"},
};
constexpr auto kSignalRows = RowsOf(kWindows, LowerWindow, kOtherSignalRows);

}  // namespace

constexpr Span<const LoweringRow> kSignalLowerings = TableOf(kSignalRows);

}  // namespace tenon::converter
