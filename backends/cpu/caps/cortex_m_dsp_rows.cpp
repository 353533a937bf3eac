// The table of capabilities of the kernels for Armv7E-M cores.
#include "backends/cpu/caps/cortex_m_caps.hpp"
#include "backends/cpu/caps/cortex_m_dsp_caps.hpp"
#include "backends/cpu/caps/in_place_caps.hpp"

namespace tenon::cpu {
namespace {

Reason ConvInPlaceSupports(const OpCall& call) {
  const Reason reason = dsp::ConvSupports(call);
  return reason ? reason : InPlaceConvSupports(call);
}

Reason DepthwiseInPlaceSupports(const OpCall& call) {
  const Reason reason = dsp::DepthwiseSupports(call);
  return reason ? reason : InPlaceConvSupports(call);
}

constexpr uint32_t kOverX = 1U << 0;

constexpr KernelCaps ConvRow(const char* id, Reason (*supports)(const OpCall&),
                             size_t (*workspace)(const OpCall&, int), WeightsOrder weights,
                             size_t (*least)(const OpCall&) = nullptr,
                             uint32_t in_place_inputs = 0) {
  return {id,        OpKind::kQuantizedConv,
          supports,  LayoutNeed::kChannelsLastStrided,
          workspace, nullptr,
          nullptr,   weights,
          nullptr,   in_place_inputs,
          false,     least};
}

constexpr KernelCaps kDsp[] = {
    ConvRow("cpu.quantized_conv.dsp_depthwise", dsp::DepthwiseSupports,
            dsp::DepthwiseWorkspaceBytes, WeightsOrder::kOutputsLast,
            dsp::DepthwiseLeastWorkspaceBytes),
    ConvRow("cpu.quantized_conv.dsp", dsp::ConvSupports, dsp::ConvWorkspaceBytes,
            WeightsOrder::kInputsLast, dsp::ConvLeastWorkspaceBytes),
    ConvRow("cpu.quantized_conv.dsp_depthwise_in_place", DepthwiseInPlaceSupports,
            dsp::DepthwiseInPlaceWorkspaceBytes, WeightsOrder::kOutputsLast,
            dsp::DepthwiseInPlaceLeastBytes, kOverX),
    ConvRow("cpu.quantized_conv.dsp_in_place", ConvInPlaceSupports, dsp::ConvInPlaceWorkspaceBytes,
            WeightsOrder::kInputsLast, dsp::ConvInPlaceLeastBytes, kOverX),
    {"cpu.quantized_matmul.dsp", OpKind::kQuantizedMatMul, dsp::MatMulSupports,
     LayoutNeed::kRowMajor, dsp::MatMulWorkspaceBytes, nullptr, nullptr, WeightsOrder::kInputsLast},
    {"cpu.quantized_binary.dsp", OpKind::kQuantizedBinary, dsp::BinarySupports, LayoutNeed::kDense,
     dsp::BinaryWorkspaceBytes, nullptr, nullptr, WeightsOrder::kRowMajor, nullptr, 0, false,
     dsp::BinaryLeastWorkspaceBytes},
    {"cpu.quantized_average_pool.dsp", OpKind::kQuantizedAveragePool, cortex_m::PoolSupports,
     LayoutNeed::kChannelsLastStrided, nullptr},
    {"cpu.max_pool.dsp", OpKind::kMaxPool, cortex_m::PoolSupports, LayoutNeed::kChannelsLastStrided,
     nullptr},
};

}  // namespace

Span<const KernelCaps> DspCaps() { return kDsp; }

}  // namespace tenon::cpu
