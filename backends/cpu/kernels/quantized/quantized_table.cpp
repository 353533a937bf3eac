#include "backends/cpu/kernels/quantized/quantized_table.hpp"

#include "backends/cpu/caps/quantized_product_caps.hpp"
#include "backends/cpu/kernels/quantized/kernels.hpp"
#include "backends/cpu/kernels/quantized/product_weights.hpp"
#include "runtime/ops/rows.hpp"

namespace tenon::cpu {
namespace {

constexpr KernelEntry kKernels[] = {
    {"cpu.quantized_conv.vector", &kQuantizedConvRow, quantized::ConvCheck, quantized::ConvLoad,
     quantized::Open, quantized::ConvRun, nullptr, quantized::Unload, quantized::PackedProductBytes,
     quantized::ConvPackingKey},
    {"cpu.quantized_matmul.vector", &kQuantizedMatMulRow, quantized::MatMulCheck,
     quantized::MatMulLoad, quantized::Open, quantized::MatMulRun, nullptr, quantized::Unload,
     quantized::PackedProductBytes, quantized::MatMulPackingKey},
};

}  // namespace

KernelList QuantizedKernels() { return {kKernels, sizeof kKernels / sizeof *kKernels}; }

}  // namespace tenon::cpu
