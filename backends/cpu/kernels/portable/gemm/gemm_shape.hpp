// The code that GEMMs of floats and of bytes share: the strides of their operands, how a
// convolution or a matrix product becomes one, and how the work is cut.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/backend_api/parallel.hpp"
#include "runtime/ops/conv_geometry.hpp"

namespace tenon::cpu::portable {

/// For every output m and position (r, c) of one image and one group:
///   sum over i, kr, kc of w[m, i, kr, kc] * x[i, r * strides[0] - pads[0] + kr * dilations[0],
///                                                c * strides[1] - pads[1] + kc * dilations[1]]
/// where x counts as zero outside its rows and columns. Depthwise: there is no i, and x[m] takes
/// the place of x[i].
///
/// A matrix product is the case of one row, one tap: positions are its rows, i its inner
/// dimension. Strides of operands are in elements.
struct GemmShape : ConvWindow {
  ptrdiff_t x_channel = 0;
  ptrdiff_t x_row = 0;
  ptrdiff_t x_column = 0;

  ptrdiff_t w_output = 0;
  ptrdiff_t w_channel = 0;
  ptrdiff_t w_row = 0;
  ptrdiff_t w_column = 0;

  ptrdiff_t y_output = 0;
  ptrdiff_t y_row = 0;
  ptrdiff_t y_column = 0;

  bool depthwise = false;
  int channels = 1;  ///< inputs summed per tap; 1 for depthwise
  int outputs = 0;
};

/// Sets image 0 and group 0 of a convolution whose attributes begin with ConvAttributes.
void SetConvShape(const OpCall& conv, GemmShape& shape);

/// Sets the product of the matrices input 0 and input 1.
void SetMatMulShape(const OpCall& call, const MatMulAttributes& attributes, GemmShape& shape);

/// Counts independent parts: blocks of `lanes` outputs at blocks of `positions`; 0 without outputs.
[[nodiscard]] int CountGemmTasks(const GemmShape& shape, int positions, int lanes);

/// Says what one of these parts computes.
struct GemmTask {
  int first_output;
  int lanes;
  int first_position;
  int positions;
};
/// Returns the part of a task; neighbouring tasks share the same part of x.
[[nodiscard]] GemmTask GemmTaskAt(const GemmShape& shape, int task, int positions, int lanes);

/// Calls `body(tap, tap_end, channel, channel_end)` for parts of the sum of at most `depth` inputs:
/// whole taps, or a part of one tap's channels. An empty sum is one part of no channels.
template <typename Body>
void ForEachGemmChunk(const GemmShape& shape, int depth, const Body& body) {
  const int taps = shape.Taps();
  const int channels = shape.channels;
  const int taps_at_once = channels == 0 ? taps : (channels < depth ? depth / channels : 1);
  for (int tap = 0; tap < taps; tap += taps_at_once) {
    const int tap_end = taps - tap < taps_at_once ? taps : tap + taps_at_once;
    int channel = 0;
    do {
      const int end = channels - channel < depth ? channels : channel + depth;
      body(tap, tap_end, channel, end);
      channel = end;
    } while (channel < channels);
  }
}

/// Runs the `tasks` tasks of each of `count` GEMMs on threads, where `make(i)` returns a GEMM.
template <typename Make>
void RunGemms(const ParallelRunner* parallel, int count, int tasks, const Make& make) {
  ParallelFor(parallel, count * tasks, [&](int begin, int end) {
    while (begin < end) {
      const int i = begin / tasks;
      const auto gemm = make(i);
      const int gemm_end = (i + 1) * tasks < end ? (i + 1) * tasks : end;
      for (; begin < gemm_end; ++begin) RunGemmTask(gemm, begin - i * tasks);
    }
  });
}

/// Returns the number of matrices of a GEMM's output.
[[nodiscard]] inline int BatchCount(const TensorView& y) {
  int batches = 1;
  for (int axis = 0; axis + 2 < y.rank; ++axis) batches *= y.dims[axis];
  return batches;
}

}  // namespace tenon::cpu::portable
