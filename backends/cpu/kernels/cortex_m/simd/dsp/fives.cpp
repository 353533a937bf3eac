// Computes quantized convolutions of rows of five pixels, as patches of one row are: five pixels at
// a time, widened in the workspace, with one output after the other. Weights are read as bytes,
// and factors are looked at when the plan is checked.
#include "backends/cpu/caps/dsp_caps.hpp"
#include "backends/cpu/kernels/cortex_m/operands.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/fives_products.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/inputs.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/kernels.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/kernel_refusals.hpp"

namespace tenon::cpu::dsp {
namespace {

using In = QuantizedGemmInput;
constexpr int kWordHalves = 2;

class Fives {
 public:
  explicit Fives(const KernelCall& call)
      : g_(GeometryOf(call.op)),
        less_(WideningOfX(call.op, false).less),
        is_pointwise_(IsPointwiseConv(call.op)),
        halves_(static_cast<int16_t*>(call.workspace)) {
    const OpCall& op = call.op;
    const TensorView& w = op.Input(In::kWeights);
    const auto& output = op.AttributesAs<QuantizedConvAttributes>().output;
    const bool is_float = output.rounding == Rounding::kHalfEven;
    depth_ = w.dims[1] * w.dims[2] * w.dims[3];
    gemm_.x = halves_;
    gemm_.x_end = halves_ + ptrdiff_t{kFivePixels} * depth_;
    gemm_.bias = op.Input(In::kBias).As<const int32_t>();
    gemm_.factors = static_cast<const uint8_t*>(op.Input(In::kMultiplier).data);
    gemm_.shifts = is_float ? nullptr : op.Input(In::kShift).As<const int8_t>();
    gemm_.y_step = g_.y_step[1];
    gemm_.outputs = g_.outputs;
    gemm_.zero_point = is_float ? output.zero_point : 2 * output.zero_point + 1;
    gemm_.doubling = is_float ? 0 : 1;
    gemm_.w = w.As<const uint8_t>();
    gemm_.steps = depth_ / 4;
    gemm_.kind = is_float                          ? RequantizeKind::kFloat
                 : output.zero_point == output.min ? RequantizeKind::kRelu
                                                   : RequantizeKind::kDoubled;
  }

  void Run() {
    for (int image = 0; image < g_.images; ++image) {
      for (int row = 0; row < g_.out_extent[0]; ++row) {
        for (int column = 0; column < g_.out_extent[1]; column += kFivePixels) {
          for (int i = 0; i < kFivePixels; ++i) {
            Load(g_.x + image * g_.x_image, row, column + i, halves_ + kWordHalves * i);
          }
          gemm_.y = g_.y + image * g_.y_image + row * g_.y_step[0] + column * g_.y_step[1];
          MultiplyFives(gemm_);
        }
      }
    }
  }

 private:
  void Load(const uint8_t* image, int row, int column, int16_t* to) const {
    const uint8_t* from =
        image + row * g_.strides[0] * g_.x_step[0] + column * g_.strides[1] * g_.x_step[1];
    if (!is_pointwise_) {
      auto* const window = reinterpret_cast<uint8_t*>(halves_ + ptrdiff_t{kFivePixels} * depth_);
      GatherWindow(g_, image, row, column, window);
      from = window;
    }
    WidenFifth(less_, gemm_.doubling != 0, from, gemm_.steps, to);
  }

  Geometry g_;
  uint32_t less_;  ///< as of Widening
  bool is_pointwise_;
  int depth_;
  int16_t* halves_;
  FiveGemm gemm_;
};

}  // namespace

Status FivesCheck(const KernelSetup& setup) {
  const OpCall& op = setup.op;
  if (const Reason reason = FivesSupports(op)) return Status(StatusCode::kUnsupported, reason);
  TENON_ENSURE(HasDenseChannels(op.Input(In::kX)) && HasDenseChannels(op.Output()) &&
                   op.Input(In::kWeights).IsChannelsLast(),
               kUnsupported, "the DSP convolution takes channels that are neighbours in memory");
  return cortex_m::CheckOperands(op, setup.workspace_bytes, FivesWorkspaceBytes(op, 1));
}

Status FivesRun(const KernelCall& call) {
  if (!cortex_m::IsEmpty(call.op.Output())) Fives(call).Run();
  return OkStatus();
}

}  // namespace tenon::cpu::dsp
