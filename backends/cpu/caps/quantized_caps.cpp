#include "backends/cpu/caps/quantized_caps.hpp"

#include "backends/cpu/caps/quantized_product_caps.hpp"

namespace tenon::cpu {
namespace {

constexpr KernelCaps kCaps[] = {
    {"cpu.quantized_conv.vector", OpKind::kQuantizedConv, q8::ConvSupports,
     LayoutNeed::kChannelsLastStrided, nullptr, q8::ConvPackedBytes, q8::ConvPackingKey},
    {"cpu.quantized_matmul.vector", OpKind::kQuantizedMatMul, q8::MatMulSupports,
     LayoutNeed::kRowMajor, nullptr, q8::MatMulPackedBytes, q8::MatMulPackingKey},
};

}  // namespace

Span<const KernelCaps> QuantizedCaps() { return kCaps; }

}  // namespace tenon::cpu
