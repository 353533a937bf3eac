#include "backends/cpu/kernels/cortex_m/routines.hpp"

#include "backends/cpu/kernels/cortex_m/generic_routines.hpp"

namespace tenon::cpu::cortex_m::generic {
namespace {

uint32_t Dot(const int8_t* x, const int8_t* w, int count) {
  uint32_t sum = 0;
  for (int i = 0; i < count; ++i) sum += static_cast<uint32_t>(x[i] * w[i]);
  return sum;
}

void Multiply(const GemmBlock& block, int32_t* sums) {
  for (int pixel = 0; pixel < block.pixels; ++pixel) {
    for (int output = 0; output < block.outputs; ++output) {
      const int8_t* x = block.x + pixel * block.x_pixel;
      const int8_t* w = block.w + output * block.depth();
      uint32_t sum = 0;
      for (int run = 0; run < block.runs; ++run) {
        sum += Dot(x, w, block.run_bytes);
        x += run + 1 < block.runs ? block.x_run : 0;
        w += block.run_bytes;
      }
      sums[pixel * kBlockOutputs + output] = static_cast<int32_t>(sum);
    }
  }
}

void SumWeights(const int8_t* w, ptrdiff_t depth, int rows, int32_t* sums) {
  for (int row = 0; row < rows; ++row, w += depth) {
    uint32_t sum = 0;
    for (ptrdiff_t i = 0; i < depth; ++i) sum += static_cast<uint32_t>(int32_t{w[i]});
    sums[row] = static_cast<int32_t>(sum);
  }
}

void SubtractScaled(const int32_t* bias, const int32_t* sums, int32_t factor, int count,
                    int32_t* to) {
  for (int i = 0; i < count; ++i) {
    const auto own = bias == nullptr ? 0U : static_cast<uint32_t>(bias[i]);
    to[i] =
        static_cast<int32_t>(own - static_cast<uint32_t>(factor) * static_cast<uint32_t>(sums[i]));
  }
}

void Copy(const Runs& runs) {
  for (int run = 0; run < runs.runs; ++run) {
    int8_t* to = runs.to + run * runs.to_run;
    const int8_t* from = runs.from + run * runs.from_run;
    for (int i = 0; i < runs.run_bytes; ++i) to[i] = from[i];
  }
}

void Fill(int8_t* to, int8_t value, ptrdiff_t count) {
  for (ptrdiff_t i = 0; i < count; ++i) to[i] = value;
}

void MultiplySegment(const DepthwiseBlock& block, const DepthwiseSegment& segment, int32_t* sums) {
  for (int pixel = 0; pixel < segment.pixels; ++pixel) {
    for (int channel = 0; channel < block.channels; ++channel) {
      uint32_t sum = 0;
      for (int tap = 0; tap < block.tap_count; ++tap) {
        const int32_t x = segment.taps[tap][block.first + pixel * block.x_pixel + channel];
        sum += static_cast<uint32_t>(x * block.w[tap * block.w_tap + channel]);
      }
      sums[pixel * kBlockChannels + channel] = static_cast<int32_t>(sum);
    }
  }
}

void MultiplyDepthwise(const DepthwiseBlock& block, int32_t* sums) {
  for (int i = 0; i < block.segment_count; ++i) {
    MultiplySegment(block, block.segments[i], sums);
    sums += block.segments[i].pixels * kBlockChannels;
  }
}

constexpr int kLeastRunBytes = 16;

constexpr GemmRoutines kGemms = {Multiply,      RequantizeOneByOne, nullptr, nullptr,
                                 SumWeights,    SubtractScaled,     Copy,    Fill,
                                 kLeastRunBytes};
constexpr DepthwiseRoutines kDepthwise = {
    nullptr, MultiplyDepthwise, RequantizeOneByOne, SubtractScaled, Fill, nullptr, nullptr};

}  // namespace

const GemmRoutines& Gemms() { return kGemms; }
const DepthwiseRoutines& Depthwise() { return kDepthwise; }

}  // namespace tenon::cpu::cortex_m::generic
