#include "backends/cpu/kernels/vector/vector_table.hpp"

#include "backends/cpu/kernels/vector/kernels.hpp"
#include "runtime/ops/rows.hpp"

namespace tenon::cpu {
namespace {

constexpr KernelEntry Entry(const char* id, const OpRow& row, Status (*check)(const KernelSetup&),
                            Status (*load)(const KernelSetup&, void**),
                            Status (*run)(const KernelCall&),
                            size_t (*held_bytes)(const void*, const void*)) {
  return {id, &row, check, load, vector::Open, run, nullptr, vector::Unload, held_bytes};
}

constexpr KernelEntry kKernels[] = {
    Entry("cpu.conv.vector_depthwise", kConvRow, vector::DepthwiseCheck, vector::DepthwiseLoad,
          vector::DepthwiseRun, vector::DepthwiseBytes),
    Entry("cpu.conv.vector_winograd", kConvRow, vector::WinogradCheck, vector::WinogradLoad,
          vector::WinogradRun, vector::WinogradBytes),
    {"cpu.conv.vector_first", &kConvRow, vector::FirstConvCheck, vector::FirstConvLoad,
     vector::Open, vector::FirstConvRun, nullptr, vector::FirstConvUnload, vector::FirstConvBytes},
    Entry("cpu.conv.vector", kConvRow, vector::ConvCheck, vector::ConvLoad, vector::ConvRun,
          vector::TileProductBytes),
    Entry("cpu.matmul.vector", kMatMulRow, vector::MatMulCheck, vector::MatMulLoad,
          vector::MatMulRun, vector::TileProductBytes),
};

}  // namespace

Span<const KernelEntry> VectorKernels() { return kKernels; }

}  // namespace tenon::cpu
