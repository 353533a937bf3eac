#include "backends/cpu/kernels/f32/few_rows.hpp"

namespace tenon::cpu::f32 {
namespace {

/// Columns of one item of work: how many a thread takes does not change their sums.
constexpr int kItemColumns = 256;
/// Columns whose sums stay in the first-level cache.
constexpr int kMostColumns = 4096;

}  // namespace

bool HasFewRows(const TileGemm& gemm, const float* residual) {
  const PackedWeights& packed = *gemm.packed;
  const GroupedShape& shape = packed.shape;
  if (!gemm.pointwise || gemm.scatter || residual != nullptr || shape.convolutions > 1) {
    return false;
  }
  const int64_t bytes = int64_t{shape.outputs} * gemm.depth * int64_t{sizeof(float)};
  return gemm.geometry.Pixels() <= kMostFewRows && bytes >= kPanelBytes && !packed.groups[0].packed;
}

void RunFewRows(const TileGemm& gemm, const float* x, float* y, const ParallelRunner* parallel) {
  const PackedWeights& packed = *gemm.packed;
  const ChannelGroup& first_group = packed.groups[0];
  const int outputs = packed.shape.outputs;
  const int items = (outputs + kItemColumns - 1) / kItemColumns;
  ParallelFor(gemm.small ? nullptr : parallel, items, [&](int begin, int end) {
    const int last = end * kItemColumns < outputs ? end * kItemColumns : outputs;
    FewRowsCall call = {};
    call.x = x;
    call.x_step = gemm.x_step;
    call.y_step = gemm.y_step;
    call.weight_step = first_group.weight_step;
    call.depth = gemm.depth;
    call.rows = static_cast<int>(gemm.geometry.Pixels());
    call.low = gemm.epilogue.low;
    call.high = gemm.epilogue.high;
    for (int first = begin * kItemColumns; first < last; first += kMostColumns) {
      call.columns = last - first < kMostColumns ? last - first : kMostColumns;
      call.weights = first_group.weights + first;
      call.bias = first_group.bias == packed.zeros ? nullptr : first_group.bias + first;
      call.y = y + first;
      packed.routines->few_rows(call);
      ActivateTile(gemm, call.y, gemm.y_step, call.rows, call.columns);
    }
  });
}

}  // namespace tenon::cpu::f32
