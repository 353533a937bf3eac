#include "backends/opencl/kernels/row_table.hpp"

#include "backends/opencl/caps/supports.hpp"
#include "backends/opencl/kernels/entry.hpp"
#include "backends/opencl/kernels/kernels.hpp"
#include "runtime/ops/rows.hpp"

namespace tenon::opencl {
namespace {

constexpr LayoutNeed kVectors = LayoutNeed::kChannelsLastStrided;

// In the order of caps/row_caps.cpp; a test compares them.
constexpr KernelEntry kKernels[] = {
    Entry<PoolSupports, kVectors>("opencl.max_pool.vector", kMaxPoolRow, Load<MaxPoolChoice>,
                                  PoolRun),
    Entry<PoolSupports>("opencl.max_pool.any", kMaxPoolRow, Load<MaxPoolChoice>, PoolRun),
    Entry<PoolSupports, kVectors>("opencl.average_pool.vector", kAveragePoolRow,
                                  Load<AveragePoolChoice>, PoolRun),
    Entry<PoolSupports>("opencl.average_pool.any", kAveragePoolRow, Load<AveragePoolChoice>,
                        PoolRun),
    Entry<UnarySupports>("opencl.unary.rows", kUnaryRow, Load<UnaryChoice>, UnaryRun),
    Entry<BinarySupports>("opencl.binary.rows", kBinaryRow, Load<BinaryChoice>, BinaryRun),
    Entry<SelectSupports>("opencl.select.rows", kSelectRow, Load<SelectChoice>, SelectRun),
    Entry<ReduceSupports>("opencl.reduce.any", kReduceRow, Load<ReduceChoice>, ReduceRun),
    Entry<SoftmaxSupports>("opencl.softmax.any", kSoftmaxRow, Load<SoftmaxChoice>, SoftmaxRun),
    Entry<LrnSupports>("opencl.lrn.any", kLrnRow, Load<LrnChoice>, LrnRun),
    Entry<MoveSupports>("opencl.concat.rows", kConcatRow, Load<MoveChoice>, ConcatRun),
    Entry<MoveSupports>("opencl.slice.rows", kSliceRow, Load<MoveChoice>, SliceRun),
    Entry<PadSupports>("opencl.pad.any", kPadRow, Load<PadChoice>, PadRun),
    Entry<MoveSupports>("opencl.reshape.any", kReshapeRow, Load<ReshapeChoice>, ReshapeRun),
    Entry<MoveSupports>("opencl.transpose.rows", kTransposeRow, Load<MoveChoice>, TransposeRun),
    Entry<MoveSupports>("opencl.expand.rows", kExpandRow, Load<MoveChoice>, ExpandRun),
    Entry<ResizeSupports>("opencl.resize.any", kResizeRow, ResizeLoad, ResizeRun),
    Entry<GatherSupports>("opencl.gather.rows", kGatherRow, GatherLoad, GatherRun),
    Entry<CastSupports>("opencl.cast.rows", kCastRow, Load<CastChoice>, CastRun),
    Entry<MoveSupports>("opencl.copy.rows", kCopyRow, Load<MoveChoice>, CopyRun),
};

}  // namespace

Span<const KernelEntry> RowKernels() { return kKernels; }

}  // namespace tenon::opencl
