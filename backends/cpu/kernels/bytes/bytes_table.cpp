#include "backends/cpu/kernels/bytes/bytes_table.hpp"

#include "backends/cpu/caps/bytes_caps.hpp"
#include "backends/cpu/kernels/bytes/kernels.hpp"
#include "runtime/ops/rows.hpp"

namespace tenon::cpu {
namespace {

constexpr KernelEntry WithoutWeights(const char* id, const OpRow& row,
                                     Status (*check)(const KernelSetup&),
                                     Status (*run)(const KernelCall&)) {
  return {id, &row, check, nullptr, bytes::OpenRoutines, run, nullptr, nullptr, nullptr};
}

constexpr KernelEntry kKernels[] = {
    {"cpu.quantized_conv.bytes_depthwise", &kQuantizedConvRow, bytes::DepthwiseCheck,
     bytes::DepthwiseLoad, bytes::Open, bytes::DepthwiseRun, nullptr, bytes::Unload,
     bytes::DepthwiseBytes, bytes::DepthwisePackingKey},
    WithoutWeights("cpu.lookup.bytes", kLookupRow, bytes::LookupCheck, bytes::LookupRun),
    WithoutWeights("cpu.quantized_binary.bytes", kQuantizedBinaryRow, bytes::BinaryCheck,
                   bytes::BinaryRun),
    WithoutWeights("cpu.quantize.bytes", kQuantizeRow, bytes::QuantizeCheck, bytes::QuantizeRun),
    WithoutWeights("cpu.dequantize.bytes", kDequantizeRow, bytes::DequantizeCheck,
                   bytes::DequantizeRun),
    WithoutWeights("cpu.max_pool.bytes", kMaxPoolRow, bytes::MaxPoolCheck, bytes::MaxPoolRun),
    WithoutWeights("cpu.quantized_average_pool.bytes", kQuantizedAveragePoolRow,
                   bytes::AveragePoolCheck, bytes::AveragePoolRun),
    WithoutWeights("cpu.quantized_reduce.bytes", kQuantizedReduceRow, bytes::ImageSumCheck,
                   bytes::ImageSumRun),
};

}  // namespace

KernelList BytesKernels() { return {kKernels, sizeof kKernels / sizeof *kKernels}; }

}  // namespace tenon::cpu
