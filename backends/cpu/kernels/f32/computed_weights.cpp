// Multiplies and convolves by weights that are computed when a plan runs: the scores and values of
// attention that is not one op, or what a network makes of its inputs.
//
// Weights are packed to the workspace, or read where they are, and then used as constant ones are.
// The matrices of a batched product are packed one by one, just before they are used.
#include "backends/cpu/caps/f32_caps.hpp"
#include "backends/cpu/kernels/f32/kernels.hpp"
#include "backends/cpu/kernels/f32/tile_gemm.hpp"
#include "backends/cpu/kernels/held_block.hpp"
#include "backends/cpu/kernels/portable/indexing.hpp"
#include "runtime/base/round_up.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::f32 {
namespace {

/// Weights that several threads pack together.
constexpr int64_t kManyWeights = 65'536;
/// Outputs of one item of a single row, a multiple of every vector's lanes: how one is summed up
/// does not depend on how many threads there are.
constexpr int kItemRows = 64;

const float* BiasOf(const OpCall& op) {
  return op.HasInput(GemmInput::kBias) ? op.Input(GemmInput::kBias).As<const float>() : nullptr;
}

/// Packs the groups of the block that are not read in place.
void PackGroups(const PackedWeights& packed, const WeightsView& weights,
                const ParallelRunner* parallel) {
  const GroupedShape& shape = packed.shape;
  const int64_t count = int64_t{shape.outputs} * shape.depth * shape.taps;
  ParallelFor(count < kManyWeights ? nullptr : parallel, packed.group_count,
              [&](int begin, int end) {
                PackCall call = {};
                call.column_step = weights.output_step;
                // Inputs and their taps behind each other are rows, too, and more of them are
                // neighbours.
                call.row_step = shape.taps > 1 ? weights.tap_step : weights.input_step;
                call.depth = shape.depth;
                call.taps = shape.taps;
                call.scale = 1.0F;
                for (int g = begin; g < end; ++g) {
                  const ChannelGroup& group = packed.groups[g];
                  if (!group.packed) continue;
                  call.from = weights.stored.Plain() + group.first * weights.output_step;
                  call.count = group.channels;
                  call.width = group.width;
                  call.to_step = group.width;
                  call.to = packed.PackedOf(group);
                  packed.routines->pack(call);
                }
              });
}

/// Returns the part of the workspace that begins at a cache line.
uint8_t* AlignedWorkspace(const KernelCall& call) {
  const auto address = reinterpret_cast<uintptr_t>(call.workspace);
  return static_cast<uint8_t*>(call.workspace) +
         (RoundUp<uintptr_t>(address, BlockLayout::kAlignment) - address);
}

Status CheckWorkspace(const KernelSetup& setup, size_t needed) {
  TENON_ENSURE(setup.workspace_bytes >= needed, kUnsupported, "workspace of {0} bytes, {1} needed",
               static_cast<int64_t>(setup.workspace_bytes), static_cast<int64_t>(needed));
  return OkStatus();
}

Status CheckBias(const OpCall& op) {
  TENON_ENSURE(!op.HasInput(GemmInput::kBias) || op.Input(GemmInput::kBias).IsRowMajor(),
               kUnsupported, "vector kernels take a dense bias");
  return OkStatus();
}

/// Describes a product of batches of matrices.
struct BatchedProduct {
  const OpCall& op;
  const Routines& routines;
  ConvGeometry geometry;  ///< of one
  GroupedShape shape;
  bool in_place;

  /// Computes the product of batch `batch`, with its weights in `block`.
  void Run(int batch, uint8_t* block, const ParallelRunner* parallel) const {
    const TensorView& a = op.Input(MatMulInput::kX);
    const TensorView& b = op.Input(MatMulInput::kWeights);
    const TensorView& y = op.Output();
    const float* x = a.As<const float>() + portable::BatchOffset(batch, y, a);
    const float* factor = b.As<const float>() + portable::BatchOffset(batch, y, b);
    float* result = y.As<float>() + portable::BatchOffset(batch, y, y);
    const bool transposed = op.AttributesAs<MatMulAttributes>().transpose_b != 0;
    if (transposed && geometry.Pixels() == 1) return RunRow(x, factor, result, parallel);
    WeightsView weights = {};
    weights.stored.data = factor;
    weights.output_step = b.strides[b.rank - (transposed ? 2 : 1)];
    weights.input_step = b.strides[b.rank - (transposed ? 1 : 2)];
    const PackedWeights& packed =
        PlacePackedWeights(block, shape, routines, in_place ? &weights : nullptr, BiasOf(op));
    PackGroups(packed, weights, parallel);
    RunTileGemm(MakeRowGemm(packed, geometry, op.AttributesAs<MatMulAttributes>().activation), x,
                nullptr, result, parallel);
  }

 private:
  /// Multiplies one row by each row of the factor, which packing would read as often.
  void RunRow(const float* x, const float* factor, float* y, const ParallelRunner* parallel) const {
    const int rows = geometry.outputs;
    ParallelFor(parallel, (rows + kItemRows - 1) / kItemRows, [&](int begin, int end) {
      for (int item = begin; item < end; ++item) {
        const int first = item * kItemRows;
        ColumnCall call = {};
        call.a_step = geometry.inputs;
        call.a = factor + first * call.a_step;
        call.column = x;
        call.y = y + first;
        call.rows = rows - first < kItemRows ? rows - first : kItemRows;
        call.depth = geometry.inputs;
        routines.column(call);
        FinishRow(first, call.rows, call.y);
      }
    });
  }

  /// Adds the bias of the outputs from `first` on, and applies the activation.
  void FinishRow(int first, int count, float* y) const {
    const float* bias = BiasOf(op);
    for (int i = 0; bias != nullptr && i < count; ++i) y[i] += bias[first + i];
    const Activation& activation = op.AttributesAs<MatMulAttributes>().activation;
    if (activation.function == UnaryFunction::kIdentity) return;
    Activate(routines, activation, y, count, 1, count);
  }
};

}  // namespace

Status ComputedMatMulCheck(const KernelSetup& setup) {
  const OpCall& op = setup.op;
  TENON_RETURN_IF_ERROR(CheckResult(ComputedMatMulSupports(op)));
  TENON_ENSURE(op.Input(MatMulInput::kX).IsRowMajor() &&
                   op.Input(MatMulInput::kWeights).IsRowMajor() && op.Output().IsRowMajor(),
               kUnsupported, "vector products take row-major operands");
  TENON_RETURN_IF_ERROR(CheckBias(op));
  return CheckWorkspace(setup, ComputedMatMulWorkspaceBytes(op, 1));
}

Status ComputedMatMulRun(const KernelCall& call) {
  const OpCall& op = call.op;
  const auto& routines = *static_cast<const Routines*>(call.state);
  const TensorView& a = op.Input(MatMulInput::kX);
  const BatchedRows rows = BatchedRowsOf(op);
  BatchedProduct product = {op, routines, {}, {}, ReadsComputedInPlace(op)};
  product.geometry = RowGeometry(static_cast<int>(rows.rows), a.dims[a.rank - 1],
                                 op.Output().dims[op.Output().rank - 1]);
  product.shape = ShapeOf(product.geometry, routines);
  const auto batches = static_cast<int>(rows.batches);
  const bool is_small = product.geometry.Work() * batches < kSmallWork;
  const ParallelRunner* parallel = is_small ? nullptr : call.parallel;
  uint8_t* blocks = AlignedWorkspace(call);
  const size_t block_bytes = ComputedMatMulBlockBytes(op);
  const int threads = parallel == nullptr ? 1 : parallel->threads;
  const size_t room = (call.workspace_bytes - BlockLayout::kAlignment) / block_bytes;
  if (!SharesEvenly(parallel, batches) || room < static_cast<size_t>(threads)) {
    for (int batch = 0; batch < batches; ++batch) product.Run(batch, blocks, parallel);
    return OkStatus();
  }
  ParallelFor(parallel, threads, [&](int begin, int end) {
    for (int share = begin; share < end; ++share) {
      const auto first = static_cast<int>(int64_t{batches} * share / threads);
      const auto last = static_cast<int>(int64_t{batches} * (share + 1) / threads);
      uint8_t* block = blocks + static_cast<size_t>(share) * block_bytes;
      for (int batch = first; batch < last; ++batch) product.Run(batch, block, nullptr);
    }
  });
  return OkStatus();
}

Status ComputedConvCheck(const KernelSetup& setup) {
  const OpCall& op = setup.op;
  TENON_RETURN_IF_ERROR(CheckResult(ComputedConvSupports(op)));
  TENON_RETURN_IF_ERROR(CheckDenseChannels(op));
  TENON_ENSURE(op.Input(ConvInput::kWeights).IsRowMajor(), kUnsupported,
               "vector convolutions take dense weights");
  TENON_RETURN_IF_ERROR(CheckBias(op));
  return CheckWorkspace(setup, ComputedConvWorkspaceBytes(op, 1));
}

Status ComputedConvRun(const KernelCall& call) {
  const OpCall& op = call.op;
  const auto& routines = *static_cast<const Routines*>(call.state);
  const TensorView& w = op.Input(ConvInput::kWeights);
  const GroupedShape shape = ShapeOf(GeometryOf(op), routines);
  WeightsView weights = {};
  weights.stored.data = w.data;
  weights.output_step = int64_t{w.dims[1]} * shape.taps;
  weights.input_step = shape.taps;
  weights.tap_step = 1;
  const PackedWeights& packed =
      PlacePackedWeights(AlignedWorkspace(call), shape, routines, nullptr, BiasOf(op));
  PackGroups(packed, weights, call.parallel);
  RunConvGemm(packed, op, call.parallel);
  return OkStatus();
}

}  // namespace tenon::cpu::f32
