#include "backends/opencl/caps/matmul_caps.hpp"
#include "backends/opencl/kernels/conv_kernels.hpp"
#include "backends/opencl/kernels/entry.hpp"
#include "backends/opencl/kernels/tile.hpp"
#include "runtime/ops/rows.hpp"

namespace tenon::opencl {

Span<const KernelEntry> MatMulKernels() {
  static constexpr KernelEntry kKernels[] = {
      {"opencl.matmul.tile", &kMatMulRow, MatMulTileCheck, MatMulTileLoad, MatMulTileOpen,
       MatMulTileRun, MatMulTileClose, UnloadTile, TileHeldBytes, MatMulPackingKey},
      Entry<MatMulReferenceSupports>("opencl.matmul.reference", kMatMulRow,
                                     Load<MatMulReferenceChoice>, MatMulReferenceRun),
  };
  return kKernels;
}

}  // namespace tenon::opencl
