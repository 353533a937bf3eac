// Boxes out of what detectors give, and those of them that are worth keeping.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace pictures {

/// Corners as shares of the picture's width and height.
struct Box {
  float left = 0;
  float top = 0;
  float right = 0;
  float bottom = 0;
  float score = 0;
  size_t label = 0;
};

/// Of heads like UltraFace's: `scores` are [N, classes], the first of them the background,
/// `corners` [N, 4], as shares of the picture: not those of exports that leave them relative to
/// anchors.
inline std::vector<Box> BoxesOfCorners(const std::vector<float>& scores,
                                       const std::vector<float>& corners, float least) {
  std::vector<Box> boxes;
  const size_t count = corners.size() / 4;
  const size_t classes = count == 0 ? 0 : scores.size() / count;
  for (size_t i = 0; i < count; ++i) {
    for (size_t k = 1; k < classes; ++k) {
      const float score = scores[i * classes + k];
      if (score < least) continue;
      const float* c = &corners[i * 4];
      boxes.push_back({c[0], c[1], c[2], c[3], score, k});
    }
  }
  return boxes;
}

/// Of heads like FastestDet's: [5 + classes, height, width], a cell each: whether something is
/// there, offset and size, and the classes.
inline std::vector<Box> BoxesOfCells(const std::vector<float>& cells, int height, int width,
                                     float least) {
  std::vector<Box> boxes;
  const auto plane = static_cast<size_t>(height) * static_cast<size_t>(width);
  const size_t channels = cells.size() / plane;
  const auto sigmoid = [](float x) { return 1 / (1 + std::exp(-x)); };
  for (size_t cell = 0; cell < plane; ++cell) {
    const auto at = [&](size_t channel) { return cells[channel * plane + cell]; };
    size_t best = 5;
    for (size_t k = 5; k < channels; ++k) best = at(k) > at(best) ? k : best;
    const float score = std::pow(at(0), 0.6F) * std::pow(at(best), 0.4F);
    if (!(score >= least)) continue;
    const size_t row = cell / static_cast<size_t>(width);
    const auto x = static_cast<float>(cell % static_cast<size_t>(width));
    const auto y = static_cast<float>(row);
    const float center_x = (x + std::tanh(at(1))) / static_cast<float>(width);
    const float center_y = (y + std::tanh(at(2))) / static_cast<float>(height);
    const float half_width = sigmoid(at(3)) / 2;
    const float half_height = sigmoid(at(4)) / 2;
    boxes.push_back({center_x - half_width, center_y - half_height, center_x + half_width,
                     center_y + half_height, score, best - 5});
  }
  return boxes;
}

/// Intersection over union.
inline float Overlap(const Box& a, const Box& b) {
  const auto area = [](float width, float height) {
    return std::max(width, 0.0F) * std::max(height, 0.0F);
  };
  const float both = area(std::min(a.right, b.right) - std::max(a.left, b.left),
                          std::min(a.bottom, b.bottom) - std::max(a.top, b.top));
  const float all =
      area(a.right - a.left, a.bottom - a.top) + area(b.right - b.left, b.bottom - b.top) - both;
  return all > 0 ? both / all : 0;
}

/// Drops every box that a better one of its class covers by more than `most`. Best first.
inline std::vector<Box> Distinct(std::vector<Box> boxes, float most) {
  std::stable_sort(boxes.begin(), boxes.end(),
                   [](const Box& a, const Box& b) { return a.score > b.score; });
  std::vector<Box> kept;
  for (const Box& box : boxes) {
    const bool is_covered = std::any_of(kept.begin(), kept.end(), [&](const Box& better) {
      return better.label == box.label && Overlap(better, box) > most;
    });
    if (!is_covered) kept.push_back(box);
  }
  return kept;
}

}  // namespace pictures
