#include <cmath>
#include <cstddef>

#include "backends/cpu/kernels/portable/indexing.hpp"
#include "backends/cpu/kernels/portable/kernels.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::portable {
namespace {

float Power(float base, float exponent) {
  // The exponent of nearly every model; two square roots cost a fraction of a power.
  if (exponent == 0.75F) return std::sqrt(base) * std::sqrt(std::sqrt(base));
  return std::pow(base, exponent);
}

/// All channels of one position.
void NormalizeChannels(const LrnAttributes& attributes, const float* x, ptrdiff_t x_stride,
                       float* y, ptrdiff_t y_stride, int channels) {
  const int before = (attributes.size - 1) / 2;
  const int after = attributes.size - 1 - before;
  const float scale = attributes.alpha / static_cast<float>(attributes.size);
  for (int channel = 0; channel < channels; ++channel) {
    const int begin = channel > before ? channel - before : 0;
    const int end = channels - channel > after ? channel + after + 1 : channels;
    // Summed anew every time: a sliding sum would keep the rounding errors of what left it.
    float sum = 0.0F;
    for (int i = begin; i < end; ++i) sum += x[i * x_stride] * x[i * x_stride];
    y[channel * y_stride] =
        x[channel * x_stride] / Power(attributes.bias + scale * sum, attributes.beta);
  }
}

}  // namespace

Status LrnRun(const KernelCall& call) {
  const auto& attributes = call.op.AttributesAs<LrnAttributes>();
  const TensorView& x = call.op.Input(0);
  const TensorView& y = call.op.Output();
  if (y.Elements() == 0) return OkStatus();
  const int channels = x.dims[1];
  const auto positions = static_cast<int>(x.Elements() / channels);
  ParallelForWork(call.parallel, positions, int64_t{16} * channels, [&](int begin, int end) {
    for (int position = begin; position < end; ++position) {
      NormalizeChannels(attributes, x.As<const float>() + OffsetWithout(1, position, x),
                        x.strides[1], y.As<float>() + OffsetWithout(1, position, y), y.strides[1],
                        channels);
    }
  });
  return OkStatus();
}

}  // namespace tenon::cpu::portable
