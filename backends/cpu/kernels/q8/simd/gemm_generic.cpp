// This GEMM is plain loops, which compilers turn into vectors of whatever the processor has.
#include <cstring>

#include "backends/cpu/kernels/q8/gemm_routines.hpp"

namespace tenon::cpu::q8 {
namespace {

int ChannelAt(int p, int) { return p; }
int WeightPlace(int p, int k, int width) { return k * width + p; }

/// Adds a pixel's products to the sums of `width` channels, which wrap.
void AddTaps(const GemmCall& call, const uint8_t* x, uint32_t* sums) {
  const int width = call.group->width;
  const int8_t* weights = call.group->weights;
  const uint8_t flip = static_cast<uint8_t>(call.flip);
  const int last = call.depth < kDepthStep ? 0 : call.depth - kDepthStep;
  for (int t = 0; t < call.tap_count; ++t) {
    const uint8_t* tap = x + call.taps[t];
    for (int k = 0; k < call.depth; k += kDepthStep) {
      const uint8_t* four = tap + (k < last ? k : last);
      for (int byte = 0; byte < kDepthStep; ++byte, weights += width) {
        const auto value = static_cast<int16_t>(four[byte] ^ flip);
        for (int p = 0; p < width; ++p) sums[p] += static_cast<uint32_t>(value * weights[p]);
      }
    }
  }
}

/// Nearest integer, halves to even, of |value| < 2^22: what lies below the point falls off a sum
/// this large.
int32_t RoundSmall(float value) {
  constexpr float kLarge = 12582912.0F;  // 1.5 * 2^23
  const float rounded = value + kLarge;
  int32_t bits;
  std::memcpy(&bits, &rounded, sizeof bits);
  return bits - 0x4B400000;
}

int32_t Clamp(int32_t value, const GemmEpilogue& epilogue) {
  value += epilogue.zero_point;
  value = value < epilogue.min ? epilogue.min : value;
  return value > epilogue.max ? epilogue.max : value;
}

void RequantizeHalfEven(const GemmCall& call, const int32_t* sums, uint8_t* bytes) {
  for (int p = 0; p < call.group->width; ++p) {
    const float product = static_cast<float>(sums[p]) * call.group->factor[p];
    bytes[p] = static_cast<uint8_t>(Clamp(RoundSmall(product), *call.epilogue));
  }
}

/// As for AVX-512: a result on which a factor a little too large and one a little too small agree
/// is the exact one. False where some do not.
bool RequantizeFixedPoint(const GemmCall& call, const int32_t* sums, uint8_t* bytes) {
  const GemmGroup& group = *call.group;
  int32_t unlike = 0;
  for (int p = 0; p < group.width; ++p) {
    const auto value = static_cast<float>(sums[p]);
    const float reach = sums[p] < 0 ? -group.offset[p] : group.offset[p];
    const int32_t high = RoundSmall(value * group.factor[p] + reach);
    unlike |= high ^ RoundSmall(value * group.factor_below[p] + reach);
    bytes[p] = static_cast<uint8_t>(Clamp(high, *call.epilogue));
  }
  return unlike == 0;
}

void Run(const GemmCall& call) {
  const GemmGroup& group = *call.group;
  const GemmEpilogue& epilogue = *call.epilogue;
  for (int i = 0; i < call.pixels; ++i) {
    uint32_t wrapping[kMostWidth];
    std::memcpy(wrapping, group.bias, static_cast<size_t>(group.width) * sizeof(int32_t));
    AddTaps(call, call.x + group.source + i * call.x_step, wrapping);
    int32_t sums[kMostWidth];
    std::memcpy(sums, wrapping, static_cast<size_t>(group.width) * sizeof(int32_t));
    uint8_t bytes[kMostWidth];
    uint8_t* y = call.y + i * call.y_step;
    bool is_done = false;
    if (group.is_tame && epilogue.kind == EpilogueKind::kHalfEven) {
      RequantizeHalfEven(call, sums, bytes);
      is_done = true;
    } else if (group.is_tame && epilogue.kind == EpilogueKind::kFixedPoint) {
      is_done = RequantizeFixedPoint(call, sums, bytes);
    }
    if (!is_done) {
      StoreFromSums(kGenericGemmRoutines, group, epilogue, sums, y);
      continue;
    }
    const uint8_t flip = static_cast<uint8_t>(epilogue.flip);
    // A group is as wide as its channels, or wider.
    // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult)
    for (int m = 0; m < group.channels; ++m) y[m] = bytes[m] ^ flip;
  }
}

}  // namespace

const GemmRoutines kGenericGemmRoutines = {
    "generic",          Run,     WeightPlace, ChannelAt,
    /*signed_x=*/false, nullptr, nullptr,     nullptr,   nullptr};

}  // namespace tenon::cpu::q8
