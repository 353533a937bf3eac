#include "backends/cpu/kernels/vector/vector_table.hpp"

#include "backends/cpu/caps/vector_caps.hpp"
#include "backends/cpu/kernels/vector/kernels.hpp"
#include "backends/cpu/kernels/vector/packed_weights.hpp"
#include "runtime/ops/rows.hpp"

namespace tenon::cpu {
namespace {

constexpr KernelEntry Entry(const char* id, const OpRow& row, Status (*check)(const KernelSetup&),
                            Status (*load)(const KernelSetup&, void**),
                            Status (*run)(const KernelCall&),
                            void (*packing_key)(const OpCall&, PackingKey*),
                            size_t (*held_bytes)(const void*,
                                                 const void*) = vector::PackedWeightsBytes) {
  return {id,  &row,    check,          load,       vector::Open,
          run, nullptr, vector::Unload, held_bytes, packing_key};
}

constexpr KernelEntry WithoutWeights(const char* id, const OpRow& row,
                                     Status (*check)(const KernelSetup&),
                                     Status (*run)(const KernelCall&)) {
  return {id, &row, check, nullptr, vector::OpenRoutines, run, nullptr, nullptr, nullptr};
}

constexpr KernelEntry kKernels[] = {
    Entry("cpu.conv.vector_depthwise", kConvRow, vector::DepthwiseCheck, vector::DepthwiseLoad,
          vector::DepthwiseRun, vector::ConvPackingKey, vector::DepthwiseBytes),
    Entry("cpu.conv.vector_winograd", kConvRow, vector::WinogradCheck, vector::WinogradLoad,
          vector::WinogradRun, vector::ConvPackingKey),
    Entry("cpu.conv.vector_first", kConvRow, vector::FirstConvCheck, vector::ConvLoad,
          vector::FirstConvRun, vector::ConvPackingKey),
    Entry("cpu.conv.vector", kConvRow, vector::ConvCheck, vector::ConvLoad, vector::ConvRun,
          vector::ConvPackingKey),
    Entry("cpu.matmul.vector", kMatMulRow, vector::MatMulCheck, vector::MatMulLoad,
          vector::MatMulRun, vector::MatMulPackingKey),
    WithoutWeights("cpu.max_pool.vector", kMaxPoolRow, vector::MaxPoolCheck, vector::MaxPoolRun),
    WithoutWeights("cpu.average_pool.vector", kAveragePoolRow, vector::AveragePoolCheck,
                   vector::AveragePoolRun),
    WithoutWeights("cpu.softmax.vector", kSoftmaxRow, vector::SoftmaxCheck, vector::SoftmaxRun),
    WithoutWeights("cpu.softmax.vector_channels", kSoftmaxRow, vector::ChannelSoftmaxCheck,
                   vector::SoftmaxRun),
    WithoutWeights("cpu.lrn.vector", kLrnRow, vector::LrnCheck, vector::LrnRun),
};

}  // namespace

KernelList VectorKernels() { return {kKernels, sizeof kKernels / sizeof *kKernels}; }

}  // namespace tenon::cpu
