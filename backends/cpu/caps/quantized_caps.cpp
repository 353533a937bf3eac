#include "backends/cpu/caps/quantized_caps.hpp"

#include "backends/cpu/caps/quantized_product_caps.hpp"

namespace tenon::cpu {
namespace {

constexpr KernelCaps kCaps[] = {
    {"cpu.quantized_conv.vector", OpKind::kQuantizedConv, quantized::ConvSupports,
     LayoutNeed::kChannelsLastStrided, nullptr, quantized::ConvPackedBytes,
     quantized::ConvPackingKey},
    {"cpu.quantized_matmul.vector", OpKind::kQuantizedMatMul, quantized::MatMulSupports,
     LayoutNeed::kRowMajor, nullptr, quantized::MatMulPackedBytes, quantized::MatMulPackingKey},
};

}  // namespace

Span<const KernelCaps> QuantizedCaps() { return kCaps; }

}  // namespace tenon::cpu
