// Walks over output positions and blocks of channels, for both kinds of pooling.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/portable/indexing.hpp"
#include "runtime/backend_api/kernel.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::portable {

/// Is the number of channels that are pooled together, so that loops over them are vectorised in
/// channels-last.
inline constexpr int kPoolLanes = 16;

/// Is one output position of one image, with a block of channels.
struct PoolBlock {
  ptrdiff_t x;   ///< offset of the first channel at row 0, column 0
  ptrdiff_t y;   ///< offset of the output of the first channel
  int lanes;     ///< channels
  int place[4];  ///< of the output of the first channel: image, channel, row, column
  int row;       ///< of the window's first tap; negative in the padding
  int column;
};

/// Calls `body(block)` for all outputs, on the call's threads.
template <typename Body>
void ForEachPoolBlock(const KernelCall& call, const Body& body) {
  const auto& attributes = call.op.AttributesAs<PoolAttributes>();
  const TensorView& x = call.op.Input(0);
  const TensorView& y = call.op.Output();
  if (y.Elements() == 0) return;
  const int channels = y.dims[1];
  const int blocks = (channels + kPoolLanes - 1) / kPoolLanes;
  const int64_t work = int64_t{kPoolLanes} * attributes.kernel[0] * attributes.kernel[1];
  const int count = y.dims[0] * y.dims[2] * y.dims[3] * blocks;
  ParallelForWork(call.parallel, count, work, [&](int begin, int end) {
    for (int index = begin; index < end; ++index) {
      const int channel = index % blocks * kPoolLanes;
      const int column = index / blocks % y.dims[3];
      const int row = index / blocks / y.dims[3] % y.dims[2];
      const int image = index / blocks / y.dims[3] / y.dims[2];
      PoolBlock block;
      block.x = static_cast<ptrdiff_t>(image) * x.strides[0] +
                static_cast<ptrdiff_t>(channel) * x.strides[1];
      block.y = static_cast<ptrdiff_t>(image) * y.strides[0] +
                static_cast<ptrdiff_t>(channel) * y.strides[1] +
                static_cast<ptrdiff_t>(row) * y.strides[2] +
                static_cast<ptrdiff_t>(column) * y.strides[3];
      block.place[0] = image;
      block.place[1] = channel;
      block.place[2] = row;
      block.place[3] = column;
      block.lanes = channels - channel < kPoolLanes ? channels - channel : kPoolLanes;
      block.row = row * attributes.strides[0] - attributes.pads[0];
      block.column = column * attributes.strides[1] - attributes.pads[1];
      body(block);
    }
  });
}

/// Returns true if the op's output is sums, to which a later part adds.
[[nodiscard]] inline bool GivesSums(const TensorView& y) {
  return y.dtype == DType::kI32 || y.dtype == DType::kI16;
}

/// Loads the sums of the parts before, for a block's channels. They wrap.
inline void LoadSums(const TensorView& before, const PoolBlock& block, int32_t* sums) {
  ptrdiff_t at = 0;
  for (int i = 0; i < 4; ++i) at += ptrdiff_t{block.place[i]} * before.strides[i];
  const ptrdiff_t step = before.strides[1];
  if (before.dtype == DType::kI16) {
    const auto* from = before.As<const int16_t>() + at;
    for (int i = 0; i < block.lanes; ++i) sums[i] = from[i * step];
  } else {
    const auto* from = before.As<const int32_t>() + at;
    for (int i = 0; i < block.lanes; ++i) sums[i] = from[i * step];
  }
}

/// Of i16, their lower halves.
inline void StoreSums(const int32_t* sums, const PoolBlock& block, const TensorView& y) {
  const ptrdiff_t step = y.strides[1];
  if (y.dtype == DType::kI16) {
    auto* to = y.As<int16_t>() + block.y;
    for (int i = 0; i < block.lanes; ++i) to[i * step] = static_cast<int16_t>(sums[i]);
  } else {
    auto* to = y.As<int32_t>() + block.y;
    for (int i = 0; i < block.lanes; ++i) to[i * step] = sums[i];
  }
}

/// Returns the first tap that is not before position 0. Windows may begin far outside (pads up to
/// 2^28).
[[nodiscard]] inline int FirstTapInside(int first_position, int dilation) {
  return first_position >= 0 ? 0 : (dilation - 1 - first_position) / dilation;
}

/// Calls `body(offset)` with the offset, from the block's x, of every tap that is inside x.
template <typename Body>
void ForEachTap(const PoolAttributes& attributes, const TensorView& x, const PoolBlock& block,
                const Body& body) {
  const int first_column = FirstTapInside(block.column, attributes.dilations[1]);
  for (int i = FirstTapInside(block.row, attributes.dilations[0]); i < attributes.kernel[0]; ++i) {
    const int row = block.row + i * attributes.dilations[0];
    if (row >= x.dims[2]) break;
    for (int j = first_column; j < attributes.kernel[1]; ++j) {
      const int column = block.column + j * attributes.dilations[1];
      if (column >= x.dims[3]) break;
      body(static_cast<ptrdiff_t>(row) * x.strides[2] +
           static_cast<ptrdiff_t>(column) * x.strides[3]);
    }
  }
}

/// Counts the taps of one axis in [low, high). Windows and padding have up to 2^28.
[[nodiscard]] inline int TapsInside(int first, int dilation, int kernel, int low, int high) {
  const int begin = FirstTapInside(first - low, dilation);
  const int end = FirstTapInside(first - high, dilation);
  return (end < kernel ? end : kernel) - begin;
}

/// Returns how many taps of a window count in its average.
[[nodiscard]] inline int64_t CountedTaps(const PoolAttributes& attributes, const TensorView& x,
                                         const PoolBlock& block) {
  const int first[2] = {block.row, block.column};
  int64_t count = 1;
  for (int i = 0; i < 2; ++i) {
    // Positions past the padding, which ceil_mode may reach, never count.
    const bool padded = attributes.count_include_pad != 0;
    const int low = padded ? -attributes.pads[i] : 0;
    const int high = x.dims[2 + i] + (padded ? attributes.pads[2 + i] : 0);
    count *= TapsInside(first[i], attributes.dilations[i], attributes.kernel[i], low, high);
  }
  return count;
}

}  // namespace tenon::cpu::portable
