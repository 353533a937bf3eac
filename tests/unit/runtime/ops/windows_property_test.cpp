// What kernels trust after a shape rule, checked by walking through every window and element of
// many small cases.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"

namespace tenon {
namespace {

/// Infers from one f32 input; false if refused.
bool Infer(const OpRow& row, const Shape& x, const void* attributes, Shape* y) {
  TensorView view;
  view.dims = x.dims;
  view.rank = static_cast<uint8_t>(x.rank);
  const int32_t id = 0;
  OpCall call;
  call.tensors = &view;
  call.input_ids = {&id, 1};
  call.attributes = attributes;
  OutputType outputs[kMaxOutputs];
  const bool ok = InferOutputs(row, call, outputs).ok();
  *y = outputs[0].shape;
  return ok;
}

/// One line of pooling windows along the width.
struct Line {
  int32_t input, kernel, stride, dilation, pad_begin, pad_end;
  bool ceil_mode;

  [[nodiscard]] bool SeesInput(int32_t window) const {
    for (int32_t tap = 0; tap < kernel; ++tap) {
      const int32_t position = window * stride - pad_begin + tap * dilation;
      if (position >= 0 && position < input) return true;
    }
    return false;
  }
  /// Windows counted one by one: whole ones, and with ceil_mode a last one that hangs over the end
  /// but starts before the end padding.
  [[nodiscard]] int32_t CountWindows() const {
    const int32_t padded = pad_begin + input + pad_end;
    const int32_t extent = (kernel - 1) * dilation + 1;
    int32_t count = 0;
    while (count * stride + extent <= padded) ++count;
    // The whole windows end at `padded` exactly, or something is left for one more.
    const bool something_left = (count - 1) * stride + extent < padded;
    if (ceil_mode && something_left && count * stride < pad_begin + input) ++count;
    return count;
  }
  [[nodiscard]] PoolAttributes Attributes() const {
    PoolAttributes attributes;
    attributes.kernel[1] = kernel;
    attributes.strides[1] = stride;
    attributes.dilations[1] = dilation;
    attributes.pads[1] = pad_begin;
    attributes.pads[3] = pad_end;
    attributes.ceil_mode = ceil_mode ? 1 : 0;
    return attributes;
  }
};

/// Calls `visit` for every small line of windows.
template <typename Visit>
void ForEachLine(const Visit& visit) {
  for (int32_t input = 1; input <= 5; ++input) {
    for (int32_t kernel = 1; kernel <= 4; ++kernel) {
      for (int32_t stride = 1; stride <= 5; ++stride) {
        for (int32_t dilation = 1; dilation <= 6; ++dilation) {
          for (int32_t pads = 0; pads < 36; ++pads) {
            visit(Line{input, kernel, stride, dilation, pads / 6, pads % 6, false});
            visit(Line{input, kernel, stride, dilation, pads / 6, pads % 6, true});
          }
        }
      }
    }
  }
}

TEST_CASE("Pool: the number of windows is what counting gives, and each sees input") {
  int accepted = 0;
  ForEachLine([&](const Line& line) {
    Shape y;
    const PoolAttributes attributes = line.Attributes();
    if (!Infer(kMaxPoolRow, Shape({1, 1, 1, line.input}), &attributes, &y)) return;
    ++accepted;
    REQUIRE(y[3] == line.CountWindows());
    for (int32_t window = 0; window < y[3]; ++window) REQUIRE(line.SeesInput(window));
  });
  CHECK(accepted > 1000);
}

TEST_CASE("Pool: undilated windows are refused only where one might see no input") {
  ForEachLine([](const Line& line) {
    if (line.dilation != 1 || line.ceil_mode) return;
    Shape y;
    const PoolAttributes attributes = line.Attributes();
    const int32_t count = line.CountWindows();
    const bool pads_fit = line.pad_begin < line.kernel && line.pad_end < line.kernel;
    REQUIRE(Infer(kMaxPoolRow, Shape({1, 1, 1, line.input}), &attributes, &y) ==
            (count >= 1 && pads_fit));
  });
}

TEST_CASE("Slice: accepted exactly when every element lies inside") {
  for (int32_t dim = 0; dim <= 5; ++dim) {
    for (int32_t begin = -2; begin <= 6; ++begin) {
      for (int32_t size = 1; size <= 6; ++size) {
        for (int32_t step = -4; step <= 4; ++step) {
          if (step == 0) continue;
          SliceAttributes attributes;
          attributes.rank = 1;
          attributes.begins[0] = begin;
          attributes.sizes[0] = size;
          attributes.steps[0] = step;
          bool inside = true;
          for (int32_t i = 0; i < size; ++i) {
            inside = inside && begin + i * step >= 0 && begin + i * step < dim;
          }
          Shape y;
          REQUIRE(Infer(kSliceRow, Shape({dim}), &attributes, &y) == inside);
        }
      }
    }
  }
}

/// Which element of the input is at position `i`, counted from the input's first: itself, the
/// nearest edge, the mirror image, or -1 for the constant.
int32_t PadSource(PadMode mode, int32_t dim, int32_t i) {
  if (i >= 0 && i < dim) return i;
  if (mode == PadMode::kConstant) return -1;
  if (mode == PadMode::kEdge) return i < 0 ? 0 : dim - 1;
  return i < 0 ? -i : 2 * (dim - 1) - i;
}

TEST_CASE("Pad: every element copied is one that stays") {
  int accepted = 0;
  for (int32_t mode = 0; mode < kPadModeCount; ++mode) {
    for (int32_t dim = 0; dim <= 5; ++dim) {
      for (int32_t begin = -6; begin <= 6; ++begin) {
        for (int32_t end = -6; end <= 6; ++end) {
          PadAttributes attributes;
          attributes.mode = static_cast<PadMode>(mode);
          attributes.rank = 1;
          attributes.begins[0] = begin;
          attributes.ends[0] = end;
          Shape y;
          if (!Infer(kPadRow, Shape({dim}), &attributes, &y)) continue;
          ++accepted;
          REQUIRE(y[0] == dim + begin + end);
          const int32_t first = begin < 0 ? -begin : 0;
          const int32_t last = dim - 1 + (end < 0 ? end : 0);
          for (int32_t i = -begin; i < dim + end; ++i) {
            const int32_t source = PadSource(attributes.mode, dim, i);
            if (source == -1) continue;
            REQUIRE(source >= first);
            REQUIRE(source <= last);
          }
        }
      }
    }
  }
  CHECK(accepted > 500);
}

}  // namespace
}  // namespace tenon
