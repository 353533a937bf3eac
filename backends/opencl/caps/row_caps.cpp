#include "backends/opencl/caps/row_caps.hpp"

#include "backends/opencl/caps/supports.hpp"

namespace tenon::opencl {
namespace {

constexpr KernelCaps Row(const char* id, OpKind kind, const char* (*supports)(const OpCall&),
                         LayoutNeed need = LayoutNeed::kAny,
                         size_t (*held)(const OpCall&) = HeldConstants) {
  return {id, kind, supports, need, nullptr, held};
}

constexpr KernelCaps kCaps[] = {
    Row("opencl.max_pool.vector", OpKind::kMaxPool, PoolSupports, LayoutNeed::kChannelsLastStrided),
    Row("opencl.max_pool.any", OpKind::kMaxPool, PoolSupports),
    Row("opencl.average_pool.vector", OpKind::kAveragePool, PoolSupports,
        LayoutNeed::kChannelsLastStrided),
    Row("opencl.average_pool.any", OpKind::kAveragePool, PoolSupports),
    Row("opencl.unary.rows", OpKind::kUnary, UnarySupports),
    Row("opencl.binary.rows", OpKind::kBinary, BinarySupports),
    Row("opencl.select.rows", OpKind::kSelect, SelectSupports),
    Row("opencl.reduce.any", OpKind::kReduce, ReduceSupports),
    Row("opencl.softmax.any", OpKind::kSoftmax, SoftmaxSupports),
    Row("opencl.lrn.any", OpKind::kLrn, LrnSupports),
    Row("opencl.concat.rows", OpKind::kConcat, MoveSupports),
    Row("opencl.slice.rows", OpKind::kSlice, MoveSupports),
    Row("opencl.pad.any", OpKind::kPad, PadSupports),
    Row("opencl.reshape.any", OpKind::kReshape, MoveSupports),
    Row("opencl.transpose.rows", OpKind::kTranspose, MoveSupports),
    Row("opencl.expand.rows", OpKind::kExpand, MoveSupports),
    Row("opencl.resize.any", OpKind::kResize, ResizeSupports, LayoutNeed::kAny, ResizeHeld),
    Row("opencl.gather.rows", OpKind::kGather, GatherSupports, LayoutNeed::kAny, GatherHeld),
    Row("opencl.cast.rows", OpKind::kCast, CastSupports),
    Row("opencl.copy.rows", OpKind::kCopy, MoveSupports),
};

}  // namespace

Span<const KernelCaps> RowCaps() { return kCaps; }

}  // namespace tenon::opencl
