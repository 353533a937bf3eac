#include "backends/cpu/kernels/q8/bytes_table.hpp"

#include "backends/cpu/caps/bytes_caps.hpp"
#include "backends/cpu/kernels/q8/kernels.hpp"
#include "runtime/ops/rows.hpp"

namespace tenon::cpu {
namespace {

constexpr KernelEntry WithoutWeights(const char* id, const OpRow& row,
                                     Status (*check)(const KernelSetup&),
                                     Status (*run)(const KernelCall&)) {
  return {id, &row, check, nullptr, q8::OpenRoutines, run, nullptr, nullptr, nullptr};
}

constexpr KernelEntry kKernels[] = {
    {"cpu.quantized_conv.bytes_depthwise", &kQuantizedConvRow, q8::DepthwiseCheck,
     q8::DepthwiseLoad, q8::Open, q8::DepthwiseRun, nullptr, q8::Unload, q8::DepthwiseBytes,
     q8::DepthwisePackingKey},
    WithoutWeights("cpu.lookup.bytes", kLookupRow, q8::LookupCheck, q8::LookupRun),
    WithoutWeights("cpu.quantized_binary.bytes", kQuantizedBinaryRow, q8::BinaryCheck,
                   q8::BinaryRun),
    WithoutWeights("cpu.quantize.bytes", kQuantizeRow, q8::QuantizeCheck, q8::QuantizeRun),
    WithoutWeights("cpu.dequantize.bytes", kDequantizeRow, q8::DequantizeCheck, q8::DequantizeRun),
    WithoutWeights("cpu.max_pool.bytes", kMaxPoolRow, q8::MaxPoolCheck, q8::MaxPoolRun),
    WithoutWeights("cpu.quantized_average_pool.bytes", kQuantizedAveragePoolRow,
                   q8::AveragePoolCheck, q8::AveragePoolRun),
    WithoutWeights("cpu.quantized_reduce.bytes", kQuantizedReduceRow, q8::ImageSumCheck,
                   q8::ImageSumRun),
};

}  // namespace

KernelList BytesKernels() { return {kKernels, sizeof kKernels / sizeof *kKernels}; }

}  // namespace tenon::cpu
