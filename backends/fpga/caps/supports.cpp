#include "backends/fpga/caps/supports.hpp"

#include "backends/fpga/caps/gemm_refusals.hpp"
#include "backends/fpga/caps/limits.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::fpga {
namespace {

constexpr const char* kBytesOnly = "the accelerator runs i8 and u8 only";
constexpr const char* kTooLarge =
    "the accelerator's feature maps have at most 4096 rows and columns and 65535 channels: it fits "
    "if split to at most that";
constexpr const char* kTooLargeWindow =
    "the accelerator's windows have at most 15 rows and columns, strides and dilations of 15";

bool IsByte(const TensorView& view) { return view.dtype == DType::kI8 || view.dtype == DType::kU8; }

/// What holds of every map that the accelerator reads or writes.
const char* MapRefusal(const TensorView& map) {
  if (!IsByte(map)) return kBytesOnly;
  if (map.Elements() == 0) return "the accelerator has no empty tensors";
  if (map.rank != 4) return "the accelerator's feature maps have rank 4";
  if (map.dims[1] > kMostChannels || map.dims[2] > kMostExtent || map.dims[3] > kMostExtent) {
    return kTooLarge;
  }
  return nullptr;
}

const char* WindowRefusal(const int32_t* kernel, const int32_t* strides, const int32_t* dilations) {
  for (int i = 0; i < 2; ++i) {
    if (kernel[i] > kMostKernel || strides[i] > kMostStride || dilations[i] > kMostDilation) {
      return kTooLargeWindow;
    }
  }
  return nullptr;
}

const char* PadRefusal(const int32_t* pads) {
  return pads[0] > kMostPadding || pads[1] > kMostPadding
             ? "the accelerator pads at most 255 rows and columns"
             : nullptr;
}

const char* ImageRefusal(const OpCall& call) {
  if (const char* reason = MapRefusal(call.Input(0))) return reason;
  return MapRefusal(call.Output());
}

/// True if padding, or a last window that reaches over it, lies within the windows.
bool CoversPadding(const PoolAttributes& pool, const OpCall& call) {
  for (int i = 0; i < 2; ++i) {
    const int32_t last = (call.Output().dims[2 + i] - 1) * pool.strides[i] - pool.pads[i] +
                         (pool.kernel[i] - 1) * pool.dilations[i];
    if (pool.pads[i] > 0 || last >= call.Input(0).dims[2 + i]) return true;
  }
  return false;
}

}  // namespace

bool IsDepthwise(const OpCall& call) {
  const auto& conv = call.AttributesAs<ConvAttributes>();
  return conv.group > 1 && conv.group == call.Input(0).dims[1] &&
         conv.group == call.Output().dims[1];
}

const char* ConvSupports(const OpCall& call) {
  const auto& attributes = call.AttributesAs<QuantizedConvAttributes>();
  if (const char* reason = ImageRefusal(call)) return reason;
  if (attributes.conv.group != 1 && !IsDepthwise(call)) {
    return "the accelerator's convolutions have one group, or one for each channel";
  }
  const int32_t* kernel = call.Input(ConvInput::kWeights).dims + 2;
  if (const char* reason =
          WindowRefusal(kernel, attributes.conv.strides, attributes.conv.dilations)) {
    return reason;
  }
  if (const char* reason = PadRefusal(attributes.conv.pads)) return reason;
  return GemmRefusal(call, attributes.output, 0);
}

const char* MatMulSupports(const OpCall& call) {
  const auto& attributes = call.AttributesAs<QuantizedMatMulAttributes>();
  const TensorView& a = call.Input(MatMulInput::kX);
  const TensorView& b = call.Input(MatMulInput::kWeights);
  if (attributes.matmul.transpose_a != 0) {
    return "the accelerator takes a product's first factor as it is, not transposed";
  }
  if (b.data == nullptr) return "the accelerator's weights are constants";
  if (b.Elements() != int64_t{b.dims[b.rank - 1]} * b.dims[b.rank - 2]) {
    return "the accelerator takes one matrix of weights for all batches";
  }
  if (a.dims[a.rank - 1] > kMostChannels || call.Output().dims[a.rank - 1] > kMostChannels ||
      a.Elements() / a.dims[a.rank - 1] > kMostExtent) {
    return kTooLarge;
  }
  return GemmRefusal(call, attributes.output,
                     b.rank - (attributes.matmul.transpose_b != 0 ? 2 : 1));
}

const char* MaxPoolSupports(const OpCall& call) {
  if (const char* reason = ImageRefusal(call)) return reason;
  const auto& pool = call.AttributesAs<PoolAttributes>();
  if (const char* reason = PadRefusal(pool.pads)) return reason;
  return WindowRefusal(pool.kernel, pool.strides, pool.dilations);
}

int AveragedElements(const OpCall& call) {
  const auto& pool = call.AttributesAs<PoolAttributes>();
  const int32_t all = pool.kernel[0] * pool.kernel[1];
  if (!CoversPadding(pool, call)) return all;
  if (pool.count_include_pad == 0) return 0;
  for (int i = 0; i < 2; ++i) {  // beyond the padding nothing counts
    const int32_t last = (call.Output().dims[2 + i] - 1) * pool.strides[i] +
                         (pool.kernel[i] - 1) * pool.dilations[i];
    if (last >= call.Input(0).dims[2 + i] + pool.pads[i] + pool.pads[2 + i]) return 0;
  }
  return all;
}

const char* AveragePoolSupports(const OpCall& call) {
  if (call.HasInput(QuantizedAveragePoolInput::kSums) || !IsByte(call.Output())) {
    return "the accelerator averages whole windows, not part by part";
  }
  if (const char* reason = ImageRefusal(call)) return reason;
  const auto& pool = call.AttributesAs<PoolAttributes>();
  const int elements = AveragedElements(call);
  if (elements == 0) {
    return "the accelerator divides by the same count everywhere: windows at the border have fewer "
           "elements";
  }
  const bool whole =
      pool.kernel[0] == call.Input(0).dims[2] && pool.kernel[1] == call.Input(0).dims[3];
  if (const char* reason = PadRefusal(pool.pads)) return reason;
  if (whole && elements <= kMostAveraged) return nullptr;
  return WindowRefusal(pool.kernel, pool.strides, pool.dilations);
}

const char* MeanSupports(const OpCall& call) {
  const auto& attributes = call.AttributesAs<QuantizedReduceAttributes>();
  const TensorView& x = call.Input(0);
  if (const char* reason = MapRefusal(x)) return reason;
  if (!IsByte(call.Output())) return kBytesOnly;
  constexpr int32_t kRowsAndColumns = 1 << 2 | 1 << 3;
  if (attributes.reduce.axes_mask != kRowsAndColumns) {
    return "the accelerator sums over rows and columns only";
  }
  if (int64_t{x.dims[2]} * x.dims[3] > kMostAveraged) {
    return "the accelerator sums at most 4096 elements: it fits if split to at most that";
  }
  if (attributes.output.rounding == Rounding::kFixedPoint && attributes.scale.shift > 0) {
    return "the accelerator shifts to the right only";
  }
  return nullptr;
}

const char* AddSupports(const OpCall& call) {
  const auto& attributes = call.AttributesAs<QuantizedBinaryAttributes>();
  if (attributes.function != BinaryFunction::kAdd && attributes.function != BinaryFunction::kSub) {
    return "the accelerator adds and subtracts feature maps, and does nothing else with two of "
           "them";
  }
  const TensorView& x = call.Input(BinaryInput::kX);
  const TensorView& y = call.Input(BinaryInput::kY);
  if (const char* reason = MapRefusal(x)) return reason;
  if (const char* reason = MapRefusal(y)) return reason;
  if (const char* reason = MapRefusal(call.Output())) return reason;
  for (int i = 0; i < 4; ++i) {
    if (x.dims[i] != y.dims[i]) return "the accelerator adds maps of one shape: nothing broadcasts";
  }
  if (x.data != nullptr || y.data != nullptr) {
    return "the accelerator adds maps, not constants";
  }
  return nullptr;
}

const char* LookupSupports(const OpCall& call) {
  const TensorView& table = call.Input(LookupInput::kTable);
  if (table.data == nullptr) return "the accelerator's tables are constants";
  if (!IsByte(table)) return "the accelerator's tables give i8 and u8";
  return ImageRefusal(call);
}

}  // namespace tenon::fpga
