// Computes quantized convolutions of few channels for few pixels, as tiles of first layers are:
// four outputs at a time over all pixels, whose windows are read where they lie. Those that reach
// into the padding are gathered one at a time.
#include "backends/cpu/caps/dsp_caps.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/inputs.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/kernels.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/outputs.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/window_quads.hpp"

namespace tenon::cpu::dsp {
namespace {

constexpr int kWord = 4;  // bytes

class First {
 public:
  First(const OpCall& op, const Outputs& outputs, void* workspace)
      : g_(GeometryOf(op)),
        outputs_(outputs),
        row_bytes_(g_.kernel[1] * g_.channels),
        words_((row_bytes_ + kWord - 1) / kWord),
        w_(static_cast<int16_t*>(workspace)),
        window_(reinterpret_cast<uint8_t*>(w_ + FirstWeightHalves(op))) {
    gemm_.less = WideningOfX(op, false).less;
    gemm_.words = words_;
    gemm_.kind = outputs.kind;
    gemm_.back = words_ > 1 ? row_bytes_ - words_ * kWord : 0;
    gemm_.y_step = g_.y_step[1];
    FindInside();
  }

  void Run() {
    const Rescale& rescale = outputs_.rescale;
    for (int first = 0; first < outputs_.count; first += kQuadOutputs) {
      WidenWeights(outputs_.w + ptrdiff_t{first} * outputs_.depth);
      for (int i = 0; i < kQuadOutputs; ++i) {
        gemm_.bias[i] =
            rescale.bias == nullptr ? 0 : static_cast<uint32_t>(rescale.bias[first + i]);
        gemm_.requantizer[i].Set(rescale, first + i);
      }
      for (int image = 0; image < g_.images; ++image) {
        for (int row = 0; row < g_.out_extent[0]; ++row) {
          RunRow(g_.x + image * g_.x_image, row,
                 g_.y + image * g_.y_image + row * g_.y_step[0] + first);
        }
      }
    }
  }

 private:
  /// The columns of outputs whose windows are inside x.
  void FindInside() {
    const int last = g_.in_extent[1] - g_.kernel[1];
    while (begin_ < g_.out_extent[1] && begin_ * g_.strides[1] < g_.pads[1]) ++begin_;
    end_ = g_.out_extent[1];
    while (end_ > begin_ && (end_ - 1) * g_.strides[1] - g_.pads[1] > last) --end_;
  }

  /// Four outputs in the order of QuadGemm. Of a row's second word, those that the first has are 0.
  void WidenWeights(const uint8_t* from) {
    int16_t* to = w_;
    for (int row = 0; row < g_.kernel[0]; ++row, from += row_bytes_) {
      for (int word = 0; word < words_; ++word) {
        const ptrdiff_t at = word == 0 ? 0 : row_bytes_ - (words_ - word) * kWord;
        const uint32_t mask = word == 1 ? ~0U << (8 * (kWord - at)) : ~0U;
        for (int i = 0; i < kQuadOutputs; ++i, to += 2) {
          const uint32_t bytes = LoadWord(from + ptrdiff_t{i} * outputs_.depth + at) & mask;
          StoreWord(to, AddEvenBytes(0, bytes));
          StoreWord(to + 2 * kQuadOutputs, AddOddBytes(0, bytes));
        }
        to += 2 * kQuadOutputs;
      }
    }
  }

  /// `y`: of the row.
  void RunRow(const uint8_t* image, int row, uint8_t* y) {
    const int top = row * g_.strides[0] - g_.pads[0];
    const int first = top < 0 ? -top : 0;
    const int room = g_.in_extent[0] - top;
    const int rows = (room < g_.kernel[0] ? room : g_.kernel[0]) - first;
    const bool is_inside = rows > 0;  // a row of it
    const int begin = is_inside ? begin_ : g_.out_extent[1];
    const int end = is_inside ? end_ : g_.out_extent[1];
    for (int column = 0; column < begin; ++column) RunGathered(image, row, column, y);
    if (end > begin) {
      const ptrdiff_t step = g_.strides[1] * g_.x_step[1];
      gemm_.w = w_ + ptrdiff_t{first} * words_ * kWord * kQuadOutputs;
      gemm_.rows = rows;
      gemm_.x = image + (top + first) * g_.x_step[0] + begin * step - g_.pads[1] * g_.x_step[1];
      gemm_.row_gap = g_.x_step[0] - row_bytes_;
      gemm_.x_gap = step - rows * g_.x_step[0];
      gemm_.y = y + begin * g_.y_step[1];
      gemm_.count = end - begin;
      MultiplyWindows(gemm_);
    }
    for (int column = end; column < g_.out_extent[1]; ++column) {
      RunGathered(image, row, column, y);
    }
  }

  void RunGathered(const uint8_t* image, int row, int column, uint8_t* y) {
    GatherWindow(g_, image, row, column, window_);
    gemm_.w = w_;
    gemm_.rows = g_.kernel[0];
    gemm_.x = window_;
    gemm_.row_gap = gemm_.x_gap = 0;
    gemm_.y = y + column * g_.y_step[1];
    gemm_.count = 1;
    MultiplyWindows(gemm_);
  }

  Geometry g_;
  const Outputs& outputs_;
  int row_bytes_;
  int words_;
  int16_t* w_;
  uint8_t* window_;
  int begin_ = 0;
  int end_ = 0;
  WindowGemm gemm_;
};

}  // namespace

Status FirstCheck(const KernelSetup& setup) {
  if (const Reason reason = FirstSupports(setup.op)) {
    return Status(StatusCode::kUnsupported, reason);
  }
  return ConvCheck(setup);
}

Status FirstRun(const KernelCall& call) {
  const OpCall& op = call.op;
  if (op.Output().dims[0] == 0) return OkStatus();
  const TensorView& x = op.Input(QuantizedGemmInput::kX);
  const TensorView& w = op.Input(QuantizedGemmInput::kWeights);
  const int count = w.dims[0];
  const Outputs outputs = OutputsOf(op, op.AttributesAs<QuantizedConvAttributes>().output, count,
                                    static_cast<int>(w.Elements() / count));
  const bool is_dense = w.dims[3] == 1 || x.strides[3] == x.dims[1];
  if (!is_dense || !outputs.IsSimple() || call.workspace_bytes < FirstBytes(op)) {
    return RunConv(call, nullptr);
  }
  First(op, outputs, call.workspace).Run();
  return OkStatus();
}

}  // namespace tenon::cpu::dsp
