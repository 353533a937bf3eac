// Fourier transforms as tables of weights, for every importer: the transforms are matrix products
// and convolutions with them.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "converter/status.hpp"

namespace tenon::converter::fourier {

/// A transform longer than this would need a table of gigabytes.
inline constexpr int64_t kLongestTransform = 8192;

struct Transform {
  int64_t length = 0;  ///< points
  int64_t bins = 0;    ///< outputs: all points, or those up to the middle
  int64_t parts = 1;   ///< of an input: 1 real, 2 real and imaginary
  bool inverse = false;
};

/// The weight with which part `from` of point n counts in part `to` of bin k: of the product with
/// exp(-2 pi i k n / length), divided by the length and conjugate for the inverse.
inline double Weight(const Transform& t, int64_t n, int64_t from, int64_t k, int64_t to) {
  const int64_t turn = k * n % t.length;
  const double angle = 2.0 * std::numbers::pi * static_cast<double>(turn) /
                       static_cast<double>(t.length) * (t.inverse ? 1.0 : -1.0);
  const double scale = t.inverse ? 1.0 / static_cast<double>(t.length) : 1.0;
  if (from == to) return std::cos(angle) * scale;
  return (to == 1 ? std::sin(angle) : -std::sin(angle)) * scale;
}

inline Status CheckTransform(const Transform& t) {
  if (t.length < 1 || t.length > kLongestTransform) {
    return InputError("transforms of {} points are not supported, only up to {}", t.length,
                      kLongestTransform);
  }
  if (t.parts != 1 && t.parts != 2) {
    return InputError("its last dimension is {}, neither 1 (real) nor 2 (complex)", t.parts);
  }
  return {};
}

/// [points * parts, bins * 2]; points of the input beyond the transform's length count nothing.
inline std::vector<double> WeightsOf(const Transform& t, int64_t points) {
  std::vector<double> values;
  values.reserve(static_cast<size_t>(points * t.parts * t.bins * 2));
  for (int64_t n = 0; n < points; ++n) {
    for (int64_t from = 0; from < t.parts; ++from) {
      for (int64_t k = 0; k < t.bins; ++k) {
        for (int64_t to = 0; to < 2; ++to) {
          values.push_back(n < t.length ? Weight(t, n, from, k, to) : 0.0);
        }
      }
    }
  }
  return values;
}

}  // namespace tenon::converter::fourier
