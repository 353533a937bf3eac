// GridSample of images.
#include <string>

#include "converter/import/onnx/ops/ops.hpp"

namespace tenon::converter {
namespace {

Result<GridPadding> ReadPadding(Lowering& node) {
  const std::string padding = node.Text("padding_mode", "zeros");
  if (padding == "zeros") return GridPadding::kZeros;
  if (padding == "border") return GridPadding::kBorder;
  if (padding == "reflection") return GridPadding::kReflection;
  return InputError("padding_mode '{}' is not known", padding);
}

/// Opset 20 has other names than the one before.
Result<ResizeMode> ReadSampleMode(Lowering& node) {
  const std::string mode = node.Text("mode", "bilinear");
  if (mode == "linear" || mode == "bilinear") return ResizeMode::kLinear;
  if (mode == "cubic" || mode == "bicubic") return ResizeMode::kCubic;
  if (mode == "nearest") return ResizeMode::kNearest;
  return InputError("mode '{}' is not known", mode);
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
  GridSampleAttributes attributes;
  TENON_ASSIGN_OR_RETURN(attributes.mode, ReadSampleMode(node));
  TENON_ASSIGN_OR_RETURN(attributes.padding, ReadPadding(node));
  attributes.align_corners = node.Flag("align_corners", false) ? 1 : 0;
  return node.Emit(OpKind::kGridSample, {x, grid}, Attributes(attributes), 0).status();
}

constexpr LoweringRow kGridSampleRows[] = {
    {"GridSample", LowerGridSample, {}, "f32, two spatial dimensions"},
    {"GridSample", LowerGridSample, "com.microsoft", "f32, two spatial dimensions"},
};

}  // namespace

constexpr Span<const LoweringRow> kGridSampleLowerings = kGridSampleRows;

}  // namespace tenon::converter
