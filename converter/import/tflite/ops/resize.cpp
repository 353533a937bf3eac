// RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR.
#include "converter/import/tflite/ops/ops.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

struct Centers {
  bool align_corners = false;
  bool half_pixel = false;
};

Result<Centers> ReadCenters(const Node& node) {
  if (const auto* linear = node.stored().builtin_options_as_ResizeBilinearOptions()) {
    return Centers{linear->align_corners(), linear->half_pixel_centers()};
  }
  if (const auto* nearest = node.stored().builtin_options_as_ResizeNearestNeighborOptions()) {
    return Centers{nearest->align_corners(), nearest->half_pixel_centers()};
  }
  return InputError("its options are missing");
}

}  // namespace

// The nearest pixel: floor((o + 0.5) in / out) with half-pixel centers, which is the half-pixel
// coordinate rounded with halves up; the nearest with aligned corners; else floor(o in / out).
Status LowerResize(Node& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId image, node.Input(0, node.OrderOf(0)));
  if (node.ShapeOf(image).rank != 4) return InputError("its input is no image");
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0, Order::kChannelsFirst));
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> size, node.Ints(1));
  TENON_ASSIGN_OR_RETURN(const Centers centers, ReadCenters(node));
  if (centers.align_corners && centers.half_pixel) {
    return InputError("align_corners and half_pixel_centers exclude each other");
  }
  const Shape shape = node.ShapeOf(x);
  if (size.size() != 2 || size[0] < 1 || size[1] < 1 || size[0] > INT32_MAX ||
      size[1] > INT32_MAX || shape[2] < 1 || shape[3] < 1) {
    return InputError("its sizes are out of range");
  }
  ResizeAttributes attributes;
  const bool linear = node.op() == format::BuiltinOperator::RESIZE_BILINEAR;
  attributes.mode = linear ? ResizeMode::kLinear : ResizeMode::kNearest;
  attributes.coordinates = CoordinateMode::kAsymmetric;
  attributes.nearest = NearestMode::kFloor;
  if (centers.half_pixel) {
    attributes.coordinates = CoordinateMode::kHalfPixel;
    attributes.nearest = NearestMode::kRoundPreferCeil;
  } else if (centers.align_corners) {
    attributes.coordinates = CoordinateMode::kAlignCorners;
    attributes.nearest = NearestMode::kRoundPreferCeil;
  }
  attributes.rank = 4;
  for (int32_t i = 0; i < 4; ++i) {
    attributes.sizes[i] = i < 2 ? shape[i] : static_cast<int32_t>(size[static_cast<size_t>(i - 2)]);
    attributes.scales[i] =
        i < 2 ? 1.0F : static_cast<float>(attributes.sizes[i]) / static_cast<float>(shape[i]);
  }
  TENON_ASSIGN_OR_RETURN(const TensorId y, node.Emit(OpKind::kResize, {x}, Attributes(attributes)));
  return node.SetOutput(0, y, Order::kChannelsFirst);
}

}  // namespace tenon::converter::tflite
