// PriorBox (Liu et al., "SSD: Single Shot MultiBox Detector", 2016, section 2.2): the boxes that a
// detector's outputs refer to, which its shapes alone decide.
#include <algorithm>
#include <cmath>

#include "caffe_subset.pb.h"
#include "converter/import/caffe/lowering_table.hpp"

namespace tenon::converter::caffe {
namespace {

/// Width and height of each box at a pixel, in pixels of the image, in Caffe's order.
Result<std::vector<std::pair<float, float>>> BoxSizes(const format::PriorBox& given) {
  constexpr int kMost = 256;  // sizes and ratios, which multiply
  if (given.min_size().empty()) return InputError("it has no min_size");
  if (given.min_size_size() > kMost || given.aspect_ratio_size() > kMost) {
    return InputError("it has {} min_size and {} aspect_ratio, at most {} are supported",
                      given.min_size_size(), given.aspect_ratio_size(), kMost);
  }
  if (given.max_size_size() > 0 && given.max_size_size() != given.min_size_size()) {
    return InputError("it has {} max_size for {} min_size", given.max_size_size(),
                      given.min_size_size());
  }
  std::vector<float> ratios = {1.0F};
  for (const float ratio : given.aspect_ratio()) {
    const bool is_known = std::any_of(ratios.begin(), ratios.end(), [&](float known) {
      return std::fabs(ratio - known) < 1e-6F;
    });
    if (is_known) continue;
    if (!(ratio > 0)) return InputError("an aspect ratio of {} is out of range", ratio);
    ratios.push_back(ratio);
    if (given.flip()) ratios.push_back(1.0F / ratio);
  }
  std::vector<std::pair<float, float>> sizes;
  for (int i = 0; i < given.min_size_size(); ++i) {
    const float least = given.min_size(i);
    sizes.emplace_back(least, least);
    if (given.max_size_size() > 0) {
      const float middle = std::sqrt(least * given.max_size(i));
      sizes.emplace_back(middle, middle);
    }
    for (const float ratio : ratios) {
      if (std::fabs(ratio - 1.0F) < 1e-6F) continue;
      sizes.emplace_back(least * std::sqrt(ratio), least / std::sqrt(ratio));
    }
  }
  return sizes;
}

struct Image {
  float height;
  float width;
};

Result<Image> ImageOf(const format::PriorBox& given, const Shape& data) {
  int64_t height = data[2];
  int64_t width = data[3];
  if (given.has_img_h() || given.has_img_w()) {
    height = given.img_h();
    width = given.img_w();
  } else if (given.has_img_size()) {
    height = width = given.img_size();
  }
  if (height < 1 || width < 1) return InputError("its image has {} x {} pixels", height, width);
  return Image{static_cast<float>(height), static_cast<float>(width)};
}

// [1, 2, 4 * boxes]: corners as parts of the image, then variances.
Status LowerPriorBox(Layer& layer) {
  const format::PriorBox& given = layer.stored().prior_box_param();
  TENON_ASSIGN_OR_RETURN(const TensorId map, layer.Bottom(0));
  TENON_ASSIGN_OR_RETURN(const TensorId data, layer.Bottom(1));
  const Shape shape = layer.ShapeOf(map);
  if (shape.rank != 4 || layer.ShapeOf(data).rank != 4) {
    return InputError("its inputs are no images of 4 dimensions");
  }
  TENON_ASSIGN_OR_RETURN(const auto sizes, BoxSizes(given));
  const int variances = given.variance_size();
  if (variances != 0 && variances != 1 && variances != 4) {
    return InputError("it has {} variances, not 1 or 4", variances);
  }
  TENON_ASSIGN_OR_RETURN(const Image image, ImageOf(given, layer.ShapeOf(data)));
  // Corners and variances: a few bytes of text can ask for any number of boxes.
  const int64_t numbers = 8 * int64_t{shape[2]} * shape[3] * static_cast<int64_t>(sizes.size());
  if (numbers > INT32_MAX) return InputError("it would make {} numbers", numbers);
  TENON_RETURN_IF_ERROR(
      CheckConstantLimit(layer.graph(), numbers * int64_t{sizeof(float)}, layer.stored().name()));
  const auto step = [&](bool has_own, float own, float whole, int32_t pixels) {
    if (has_own) return own;
    return given.has_step() ? given.step() : whole / static_cast<float>(pixels);
  };
  const float step_h = step(given.has_step_h(), given.step_h(), image.height, shape[2]);
  const float step_w = step(given.has_step_w(), given.step_w(), image.width, shape[3]);
  std::vector<float> values;
  for (int32_t row = 0; row < shape[2]; ++row) {
    for (int32_t column = 0; column < shape[3]; ++column) {
      const float x = (static_cast<float>(column) + given.offset()) * step_w;
      const float y = (static_cast<float>(row) + given.offset()) * step_h;
      for (const auto& [width, height] : sizes) {
        values.insert(values.end(),
                      {(x - width / 2) / image.width, (y - height / 2) / image.height,
                       (x + width / 2) / image.width, (y + height / 2) / image.height});
      }
    }
  }
  if (given.clip()) {
    for (float& value : values) value = std::clamp(value, 0.0F, 1.0F);
  }
  const size_t count = values.size();
  for (size_t i = 0; i < count; ++i) {
    values.push_back(variances == 0   ? 0.1F
                     : variances == 1 ? given.variance(0)
                                      : given.variance(static_cast<int>(i % 4)));
  }
  return layer.SetTop(0,
                      layer.Constant("boxes", Shape({1, 2, static_cast<int32_t>(count)}), values));
}

constexpr LoweringRow kPriorBoxLowerings[] = {{"PriorBox", LowerPriorBox}};

}  // namespace

constexpr Span<const LoweringRow> kPriorBoxRows = kPriorBoxLowerings;

}  // namespace tenon::converter::caffe
