// Pictures as networks take them: read from a file, resized, normalised, in the order of the port.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "tenon/tenon.hpp"

namespace pictures {

/// Red, green and blue of each pixel, row by row.
struct Picture {
  int width = 0;
  int height = 0;
  std::vector<uint8_t> rgb;
};

/// Reads JPEG, PNG, BMP, PPM and what else stb_image knows. None if it cannot; `why` says why not.
std::optional<Picture> Read(const std::string& file, std::string* why);

/// What the network was trained with: it is given (x - mean) * scale, x being 0 to 255. By channel,
/// in the network's order.
struct Preparation {
  float mean[3] = {0, 0, 0};
  float scale[3] = {1, 1, 1};
  bool bgr = false;  ///< blue first
};

/// The weights with which pixels of a row of `from` make one of `to`: a triangle as wide as a pixel
/// of the smaller of the two, so that nothing is left out where the picture shrinks.
class Resampling {
 public:
  Resampling(int from, int to) {
    const double ratio = static_cast<double>(from) / to;
    const double radius = std::max(1.0, ratio);
    for (int i = 0; i < to; ++i) {
      const double center = (i + 0.5) * ratio;
      Taps taps;
      taps.first = std::max(0, static_cast<int>(center - radius + 0.5));
      const int end = std::min(from, static_cast<int>(center + radius + 0.5));
      double sum = 0;
      for (int k = taps.first; k < end; ++k) {
        const double weight = std::max(0.0, 1 - std::abs((k + 0.5 - center) / radius));
        taps.weights.push_back(weight);
        sum += weight;
      }
      for (double& weight : taps.weights) weight /= sum;
      taps_.push_back(std::move(taps));
    }
  }

  /// Element `i` of the result; `at(k)` gives element k of what is resampled.
  template <typename At>
  [[nodiscard]] double Apply(int i, const At& at) const {
    const Taps& taps = taps_[static_cast<size_t>(i)];
    double sum = 0;
    for (size_t k = 0; k < taps.weights.size(); ++k) {
      sum += taps.weights[k] * at(taps.first + static_cast<int>(k));
    }
    return sum;
  }

 private:
  struct Taps {
    int first = 0;
    std::vector<double> weights;
  };
  std::vector<Taps> taps_;
};

/// Values from 0 to 255, three for each pixel.
inline std::vector<float> Resize(const Picture& picture, int width, int height) {
  const Resampling columns(picture.width, width);
  const Resampling rows(picture.height, height);
  const auto index = [](int y, int x, int row, int c) {
    return static_cast<size_t>((y * row + x) * 3 + c);
  };
  std::vector<float> narrow(static_cast<size_t>(picture.height) * static_cast<size_t>(width) * 3);
  for (int y = 0; y < picture.height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) {
        narrow[index(y, x, width, c)] = static_cast<float>(columns.Apply(
            x, [&](int k) { return double{1} * picture.rgb[index(y, k, picture.width, c)]; }));
      }
    }
  }
  std::vector<float> resized(static_cast<size_t>(height) * static_cast<size_t>(width) * 3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) {
        resized[index(y, x, width, c)] = static_cast<float>(rows.Apply(
            y, [&](int k) { return static_cast<double>(narrow[index(k, x, width, c)]); }));
      }
    }
  }
  return resized;
}

/// How a port takes pictures: [1, C, H, W] or [1, H, W, C], C being 1 or 3.
struct PortForm {
  int width = 0;
  int height = 0;
  int channels = 0;
  bool channels_last = false;
};

inline std::optional<PortForm> FormOf(const tenon_port_info& port) {
  const auto is_channels = [](int32_t dim) { return dim == 1 || dim == 3; };
  if (port.rank != 4 || port.dims[0] != 1) return std::nullopt;
  const int32_t* d = port.dims;
  if (is_channels(d[1])) return PortForm{d[3], d[2], d[1], false};
  if (is_channels(d[3])) return PortForm{d[2], d[1], d[3], true};
  return std::nullopt;
}

/// Fills an input with a picture. Floats are prepared; bytes are what the camera gave, and of
/// quantized ports what stands for the prepared value. False if the port takes no pictures.
inline bool Fill(const Picture& picture, const Preparation& preparation,
                 const tenon_port_info& port, void* data) {
  const std::optional<PortForm> form = FormOf(port);
  const bool is_float = port.dtype == TENON_F32;
  const bool is_bytes = port.dtype == TENON_U8 || port.dtype == TENON_I8;
  if (!form || (!is_float && !is_bytes)) return false;
  const std::vector<float> values = Resize(picture, form->width, form->height);
  const int pixels = form->width * form->height;
  for (int pixel = 0; pixel < pixels; ++pixel) {
    const float* rgb = &values[static_cast<size_t>(pixel) * 3];
    for (int c = 0; c < form->channels; ++c) {
      float value = rgb[preparation.bgr ? 2 - c : c];
      if (form->channels == 1) value = 0.299F * rgb[0] + 0.587F * rgb[1] + 0.114F * rgb[2];
      const float prepared = (value - preparation.mean[c]) * preparation.scale[c];
      const auto at = static_cast<size_t>(form->channels_last ? pixel * form->channels + c
                                                              : c * pixels + pixel);
      if (is_float) {
        static_cast<float*>(data)[at] = prepared;
        continue;
      }
      const bool is_unsigned = port.dtype == TENON_U8;
      const float least = is_unsigned ? 0.0F : -128.0F;
      float byte = port.scale > 0 ? prepared / port.scale + static_cast<float>(port.zero_point)
                                  : value + least;
      byte = std::min(std::max(std::nearbyint(byte), least), least + 255.0F);
      static_cast<uint8_t*>(data)[at] = static_cast<uint8_t>(static_cast<int>(byte));
    }
  }
  return true;
}

/// The values of an output, of quantized ones what they stand for. Empty for other types.
inline std::vector<float> ValuesOf(const tenon_port_info& port, const void* data) {
  std::vector<float> values;
  if (port.dtype == TENON_F32) {
    const auto* floats = static_cast<const float*>(data);
    values.assign(floats, floats + port.bytes / sizeof(float));
  }
  const float scale = port.scale > 0 ? port.scale : 1.0F;
  const auto add = [&](int q) {
    values.push_back(static_cast<float>(q - port.zero_point) * scale);
  };
  if (port.dtype == TENON_U8) {
    const auto* bytes = static_cast<const uint8_t*>(data);
    std::for_each(bytes, bytes + port.bytes, add);
  } else if (port.dtype == TENON_I8) {
    const auto* bytes = static_cast<const int8_t*>(data);
    std::for_each(bytes, bytes + port.bytes, add);
  }
  return values;
}

}  // namespace pictures
