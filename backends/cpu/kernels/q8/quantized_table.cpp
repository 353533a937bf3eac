#include "backends/cpu/kernels/q8/quantized_table.hpp"

#include "backends/cpu/caps/quantized_product_caps.hpp"
#include "backends/cpu/kernels/q8/gemm_weights.hpp"
#include "backends/cpu/kernels/q8/kernels.hpp"
#include "runtime/ops/rows.hpp"

namespace tenon::cpu {
namespace {

constexpr KernelEntry kKernels[] = {
    {"cpu.quantized_conv.vector", &kQuantizedConvRow, q8::ConvCheck, q8::ConvLoad, q8::Open,
     q8::ConvRun, nullptr, q8::Unload, q8::PackedGemmBytes, q8::ConvPackingKey},
    {"cpu.quantized_matmul.vector", &kQuantizedMatMulRow, q8::MatMulCheck, q8::MatMulLoad, q8::Open,
     q8::MatMulRun, nullptr, q8::Unload, q8::PackedGemmBytes, q8::MatMulPackingKey},
};

}  // namespace

KernelList QuantizedKernels() { return {kKernels, sizeof kKernels / sizeof *kKernels}; }

}  // namespace tenon::cpu
