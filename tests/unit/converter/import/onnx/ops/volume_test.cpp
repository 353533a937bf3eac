// Convolutions and pools over three spatial dimensions, against their definitions.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <limits>

#include "tests/unit/converter/import/onnx/run_model.hpp"

namespace tenon::converter::test {
namespace {

using Triple = std::array<int64_t, 3>;

struct Windows {
  Triple size;  ///< of x, one image
  Triple kernel = {2, 3, 2};
  Triple strides = {1, 1, 1};
  Triple dilations = {1, 1, 1};
  Triple begins = {0, 0, 0};
  Triple ends = {0, 0, 0};

  [[nodiscard]] int64_t Places(size_t i) const {
    const int64_t extent = (kernel[i] - 1) * dilations[i] + 1;
    return (size[i] + begins[i] + ends[i] - extent) / strides[i] + 1;
  }
  [[nodiscard]] std::vector<int64_t> Pads() const {
    return {begins[0], begins[1], begins[2], ends[0], ends[1], ends[2]};
  }
};

/// Calls `visit(tap, element)` for every tap of the window at `place`; element -1: in the padding.
template <typename Visit>
void ForEachTap(const Windows& w, const Triple& place, const Visit& visit) {
  int64_t tap = 0;
  for (int64_t a = 0; a < w.kernel[0]; ++a) {
    for (int64_t b = 0; b < w.kernel[1]; ++b) {
      for (int64_t c = 0; c < w.kernel[2]; ++c, ++tap) {
        const Triple offset = {a, b, c};
        int64_t element = 0;
        bool inside = true;
        for (size_t i = 0; i < 3; ++i) {
          const int64_t at = place[i] * w.strides[i] - w.begins[i] + offset[i] * w.dilations[i];
          inside &= at >= 0 && at < w.size[i];
          element = element * w.size[i] + at;
        }
        visit(tap, inside ? element : -1);
      }
    }
  }
}

/// Calls `visit(place)` for every window, in the order of the output's elements.
template <typename Visit>
void ForEachPlace(const Windows& w, const Visit& visit) {
  for (int64_t d = 0; d < w.Places(0); ++d) {
    for (int64_t h = 0; h < w.Places(1); ++h) {
      for (int64_t x = 0; x < w.Places(2); ++x) visit(Triple{d, h, x});
    }
  }
}

Floats Numbers(int64_t count) {
  Floats values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i * 37 % 101) - 50.0F);
  return values;
}

int64_t VolumeOf(const Triple& t) { return t[0] * t[1] * t[2]; }

ModelBuilder OneNode(const char* op, const Windows& w, int64_t images, int64_t channels) {
  return ModelBuilder(13)
      .Input("x", {images, channels, w.size[0], w.size[1], w.size[2]})
      .Node(op, {"x"}, {"y"})
      .Set("kernel_shape", std::vector<int64_t>(w.kernel.begin(), w.kernel.end()))
      .Set("strides", std::vector<int64_t>(w.strides.begin(), w.strides.end()))
      .Set("pads", w.Pads());
}

const Windows kPadded = {{4, 5, 6}, {2, 3, 2}, {1, 2, 2}, {1, 1, 1}, {1, 1, 0}, {0, 1, 1}};

TEST_CASE("MaxPool: three spatial dimensions") {
  // Padded in the depth; not padded there, where one volume is pooled as images; each depth alone.
  const Windows cases[] = {
      kPadded,
      {{7, 5, 6}, {2, 2, 2}, {2, 2, 2}},
      {{9, 5, 6}, {3, 3, 2}, {2, 1, 1}, {2, 1, 1}, {0, 1, 0}, {0, 1, 1}},
      {{4, 5, 6}, {1, 2, 2}, {1, 2, 2}},
      {{4, 5, 6}, {1, 2, 2}, {2, 2, 2}},
      {{8, 5, 6}, {5, 2, 2}, {1, 1, 1}},
  };
  for (const Windows& w : cases) {
    for (const int64_t images : {1, 2}) {
      CAPTURE(images);
      CAPTURE(w.kernel[0]);
      const Floats x = Numbers(images * 2 * VolumeOf(w.size));
      Floats expected;
      for (int64_t channel = 0; channel < images * 2; ++channel) {
        const float* volume = x.data() + channel * VolumeOf(w.size);
        ForEachPlace(w, [&](const Triple& place) {
          float most = -std::numeric_limits<float>::infinity();
          ForEachTap(w, place, [&](int64_t, int64_t element) {
            if (element >= 0) most = std::max(most, volume[element]);
          });
          expected.push_back(most);
        });
      }
      const auto model =
          OneNode("MaxPool", w, images, 2)
              .Set("dilations", std::vector<int64_t>(w.dilations.begin(), w.dilations.end()))
              .Output("y");
      CheckClose(Run(model, {x}), expected);
    }
  }
}

TEST_CASE("MaxPool: a last window may reach beyond the depth") {
  // Depths of 5 by windows of 2 with strides of 2: the last is of one depth alone.
  const Windows w = {{5, 4, 4}, {2, 2, 2}, {2, 2, 2}};
  const Floats x = Numbers(VolumeOf(w.size));
  Floats expected;
  for (int64_t d = 0; d < 3; ++d) {
    for (const int64_t row : {0, 2}) {
      for (const int64_t column : {0, 2}) {
        float most = -std::numeric_limits<float>::infinity();
        for (int64_t i = 0; i < 8; ++i) {
          const int64_t depth = std::min<int64_t>(2 * d + i / 4, 4);
          most = std::max(most, x[depth * 16 + (row + i / 2 % 2) * 4 + column + i % 2]);
        }
        expected.push_back(most);
      }
    }
  }
  const auto model = OneNode("MaxPool", w, 1, 1).Set("ceil_mode", int64_t{1}).Output("y");
  CheckClose(Run(model, {x}), expected);
}

TEST_CASE("AveragePool: three spatial dimensions, with and without the padding") {
  for (const bool counts_padding : {false, true}) {
    const Floats x = Numbers(2 * VolumeOf(kPadded.size));
    Floats expected;
    for (int64_t image = 0; image < 2; ++image) {
      const float* volume = x.data() + image * VolumeOf(kPadded.size);
      ForEachPlace(kPadded, [&](const Triple& place) {
        float sum = 0;
        float count = 0;
        ForEachTap(kPadded, place, [&](int64_t, int64_t element) {
          sum += element >= 0 ? volume[element] : 0.0F;
          count += element >= 0 || counts_padding ? 1.0F : 0.0F;
        });
        expected.push_back(sum / count);
      });
    }
    const auto model = OneNode("AveragePool", kPadded, 2, 1)
                           .Set("count_include_pad", int64_t{counts_padding ? 1 : 0})
                           .Output("y");
    CheckClose(Run(model, {x}), expected);
  }
}

TEST_CASE("Conv: three spatial dimensions, in groups, with gaps and padding") {
  Windows w = kPadded;
  w.dilations = {2, 1, 1};
  w.strides = {2, 1, 2};
  const int64_t taps = VolumeOf(w.kernel);
  const Floats weights = Numbers(2 * 2 * taps);
  for (const int64_t images : {1, 2}) {
    CAPTURE(images);
    const Floats x = Numbers(images * 4 * VolumeOf(w.size));
    Floats expected;
    for (int64_t channel = 0; channel < images * 2; ++channel) {
      const int64_t output = channel % 2;  // each of a group of two inputs
      ForEachPlace(w, [&](const Triple& place) {
        float sum = output == 0 ? 0.5F : -2.0F;
        for (int64_t input = 0; input < 2; ++input) {
          const float* volume = x.data() + (channel * 2 + input) * VolumeOf(w.size);
          ForEachTap(w, place, [&](int64_t tap, int64_t element) {
            const auto at = static_cast<size_t>((output * 2 + input) * taps + tap);
            if (element >= 0) sum += volume[element] * weights[at];
          });
        }
        expected.push_back(sum);
      });
    }
    const auto model = ModelBuilder(13)
                           .Input("x", {images, 4, w.size[0], w.size[1], w.size[2]})
                           .Floats("w", {2, 2, w.kernel[0], w.kernel[1], w.kernel[2]}, weights)
                           .Floats("b", {2}, {0.5F, -2.0F})
                           .Node("Conv", {"x", "w", "b"}, {"y"})
                           .Set("group", int64_t{2})
                           .Set("strides", std::vector<int64_t>{2, 1, 2})
                           .Set("dilations", std::vector<int64_t>{2, 1, 1})
                           .Set("pads", w.Pads())
                           .Output("y");
    CheckClose(Run(model, {x}), expected);
  }
}

TEST_CASE("Conv: a window deeper than its input is refused") {
  const auto model = ModelBuilder(13)
                         .Input("x", {1, 1, 2, 4, 4})
                         .Floats("w", {1, 1, 3, 3, 3})
                         .Node("Conv", {"x", "w"}, {"y"})
                         .Output("y");
  CHECK(model.Text().find("does not fit into the depth of its input") != std::string::npos);
}

}  // namespace
}  // namespace tenon::converter::test
