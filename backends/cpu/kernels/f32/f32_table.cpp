#include "backends/cpu/kernels/f32/f32_table.hpp"

#include "backends/cpu/caps/vector_caps.hpp"
#include "backends/cpu/kernels/f32/kernels.hpp"
#include "backends/cpu/kernels/f32/packed_weights.hpp"
#include "runtime/ops/rows.hpp"

namespace tenon::cpu {
namespace {

constexpr KernelEntry Entry(const char* id, const OpRow& row, Status (*check)(const KernelSetup&),
                            Status (*load)(const KernelSetup&, void**),
                            Status (*run)(const KernelCall&),
                            void (*packing_key)(const OpCall&, PackingKey*),
                            size_t (*held_bytes)(const void*,
                                                 const void*) = f32::PackedWeightsBytes) {
  return {id, &row, check, load, f32::Open, run, nullptr, f32::Unload, held_bytes, packing_key};
}

constexpr KernelEntry WithoutWeights(const char* id, const OpRow& row,
                                     Status (*check)(const KernelSetup&),
                                     Status (*run)(const KernelCall&)) {
  return {id, &row, check, nullptr, f32::OpenRoutines, run, nullptr, nullptr, nullptr};
}

constexpr KernelEntry kKernels[] = {
    Entry("cpu.conv.vector_depthwise", kConvRow, f32::DepthwiseCheck, f32::DepthwiseLoad,
          f32::DepthwiseRun, f32::ConvPackingKey, f32::DepthwiseBytes),
    Entry("cpu.conv.vector_winograd", kConvRow, f32::WinogradCheck, f32::WinogradLoad,
          f32::WinogradRun, f32::ConvPackingKey),
    Entry("cpu.conv.vector_first", kConvRow, f32::FirstConvCheck, f32::ConvLoad, f32::FirstConvRun,
          f32::ConvPackingKey),
    Entry("cpu.conv.vector", kConvRow, f32::ConvCheck, f32::ConvLoad, f32::ConvRun,
          f32::ConvPackingKey),
    Entry("cpu.matmul.vector", kMatMulRow, f32::MatMulCheck, f32::MatMulLoad, f32::MatMulRun,
          f32::MatMulPackingKey),
    WithoutWeights("cpu.max_pool.vector", kMaxPoolRow, f32::MaxPoolCheck, f32::MaxPoolRun),
    WithoutWeights("cpu.average_pool.vector", kAveragePoolRow, f32::AveragePoolCheck,
                   f32::AveragePoolRun),
    WithoutWeights("cpu.softmax.vector", kSoftmaxRow, f32::SoftmaxCheck, f32::SoftmaxRun),
    WithoutWeights("cpu.softmax.vector_channels", kSoftmaxRow, f32::ChannelSoftmaxCheck,
                   f32::SoftmaxRun),
    WithoutWeights("cpu.lrn.vector", kLrnRow, f32::LrnCheck, f32::LrnRun),
};

}  // namespace

KernelList VectorKernels() { return {kKernels, sizeof kKernels / sizeof *kKernels}; }

}  // namespace tenon::cpu
