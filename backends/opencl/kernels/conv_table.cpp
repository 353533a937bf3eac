#include "backends/opencl/caps/conv_caps.hpp"
#include "backends/opencl/kernels/conv_kernels.hpp"
#include "backends/opencl/kernels/entry.hpp"
#include "backends/opencl/kernels/tile.hpp"
#include "runtime/ops/rows.hpp"

namespace tenon::opencl {
namespace {

template <const char* (*supports)(const OpCall&), LayoutNeed need>
constexpr KernelEntry TileEntry(const char* id) {
  return {id,        &kConvRow,  Check<supports, need>, ConvTileLoad,  ConvTileOpen, ConvTileRun,
          CloseTile, UnloadTile, TileHeldBytes,         ConvPackingKey};
}

}  // namespace

Span<const KernelEntry> ConvKernels() {
  static constexpr KernelEntry kKernels[] = {
      {"opencl.conv.depthwise", &kConvRow,
       Check<ConvDepthwiseSupports, LayoutNeed::kChannelsLastStrided>, ConvDepthwiseLoad,
       ConvDepthwiseOpen, ConvDepthwiseRun, ConvDepthwiseClose, ConvDepthwiseUnload,
       ConvDepthwiseHeldBytes, ConvPackingKey},
      {"opencl.conv.winograd", &kConvRow, ConvWinogradCheck, ConvWinogradLoad, ConvWinogradOpen,
       ConvWinogradRun, ConvWinogradClose, ConvWinogradUnload, ConvWinogradHeldBytes,
       ConvPackingKey},
      TileEntry<ConvFirstSupports, LayoutNeed::kAny>("opencl.conv.first"),
      TileEntry<ConvTileSupports, LayoutNeed::kChannelsLastStrided>("opencl.conv.tile"),
      Entry<ConvReferenceSupports>("opencl.conv.reference", kConvRow, Load<ConvReferenceChoice>,
                                   ConvReferenceRun),
  };
  return kKernels;
}

}  // namespace tenon::opencl
