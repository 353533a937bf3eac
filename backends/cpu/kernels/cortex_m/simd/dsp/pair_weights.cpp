#include "backends/cpu/kernels/cortex_m/simd/dsp/pair_weights.hpp"

#include "backends/cpu/kernels/cortex_m/simd/dsp/dots.hpp"

namespace tenon::cpu::dsp {
namespace {

constexpr int kPairStep = 2 * kStepInputs;

/// Where half `index` of a run stands among those of its output.
int PlaceOf(const StoredWeights& weights, int index) {
  const int lane = index % kStepInputs;
  return index / kStepInputs * kPairStep + (weights.in_order ? lane : lane % 2 * 2 + lane / 2);
}

void WidenAnyRun(const StoredWeights& weights, const Widening& widening, const uint8_t* from,
                 int16_t* to) {
  for (int tap = 0; tap < weights.taps; ++tap) {
    for (int i = 0; i < weights.channels; ++i) {
      const uint8_t byte = from[tap * weights.column + i * weights.channel];
      to[PlaceOf(weights, tap * weights.padded_channels + i)] = Widened(widening, byte);
    }
  }
}

bool IsContiguousRun(const StoredWeights& weights) {
  return (weights.channels == 1 || weights.channel == 1) &&
         weights.channels == weights.padded_channels &&
         (weights.taps == 1 || weights.column == weights.channels);
}

void WidenOutput(const StoredWeights& weights, int output, int16_t* to) {
  const uint8_t zero_point = weights.zero_points == nullptr
                                 ? uint8_t{0}
                                 : weights.zero_points[output * weights.zero_point_step];
  const Widening widening = WideningOf(weights.is_signed, zero_point, weights.in_order, false);
  const uint8_t* from = weights.data + output * weights.output;
  const int run = weights.taps * weights.channels;
  const bool is_contiguous = IsContiguousRun(weights);
  // Runs of whole steps that follow each other are one.
  if (is_contiguous && run % kStepInputs == 0 &&
      (weights.runs == 1 || (weights.runs_in_row == 1 && weights.row == run))) {
    return Widen(widening, from, run * weights.runs, to, kPairStep);
  }
  for (int i = 0; i < weights.runs; ++i, to += weights.steps * kPairStep) {
    const uint8_t* begin =
        from + i / weights.runs_in_row * weights.row + i % weights.runs_in_row * weights.column;
    if (is_contiguous) {
      Widen(widening, begin, run, to, kPairStep);
    } else {
      WidenAnyRun(weights, widening, begin, to);
    }
  }
}

}  // namespace

void WidenPair(const StoredWeights& weights, int first, int count, int16_t* to) {
  for (int i = 0; i < count; ++i) WidenOutput(weights, first + i, to + i * kStepInputs);
}

}  // namespace tenon::cpu::dsp
