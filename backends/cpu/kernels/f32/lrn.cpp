// Computes local response normalisation over the channels of a channels-last tensor.
#include "backends/cpu/caps/f32_caps.hpp"
#include "backends/cpu/kernels/f32/choose_routines.hpp"
#include "backends/cpu/kernels/f32/kernels.hpp"
#include "backends/cpu/kernels/f32/pixel_runs.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::f32 {
namespace {

/// Is the number of elements that cost about as much as waking a thread.
constexpr int64_t kSmallElements = 8'192;

}  // namespace

Status LrnCheck(const KernelSetup& setup) {
  TENON_RETURN_IF_ERROR(CheckResult(LrnSupports(setup.op)));
  return CheckDenseChannels(setup.op);
}

Status LrnRun(const KernelCall& call) {
  const auto& routines = *static_cast<const Routines*>(call.state);
  const auto& attributes = call.op.AttributesAs<LrnAttributes>();
  const TensorView& x = call.op.Input(0);
  const TensorView& y = call.op.Output();
  const PixelRuns runs = PixelRuns::OfImages(x, y);
  const bool small = x.Elements() < kSmallElements;
  ParallelFor(small ? nullptr : call.parallel, runs.pixels(), [&](int begin, int end) {
    while (begin < end) {
      const PixelRun run = runs.Run(begin, end);
      LrnCall pixels;
      pixels.x = x.As<const float>() + run.x;
      pixels.y = y.As<float>() + run.y;
      pixels.x_step = run.x_step;
      pixels.y_step = run.y_step;
      pixels.pixels = run.pixels;
      pixels.channels = x.dims[1];
      pixels.before = (attributes.size - 1) / 2;
      pixels.size = attributes.size;
      pixels.scale = attributes.alpha / static_cast<float>(attributes.size);
      pixels.beta = attributes.beta;
      pixels.bias = attributes.bias;
      routines.lrn(pixels);
      begin += run.pixels;
    }
  });
  return OkStatus();
}

}  // namespace tenon::cpu::f32
