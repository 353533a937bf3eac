// Multiplies quantized matrices whose second factor is no constant: it is packed to the workspace
// each time, as constant weights are when a plan is loaded.
#include <cstring>

#include "backends/cpu/caps/q8_gemm_caps.hpp"
#include "backends/cpu/kernels/q8/gemm_rows.hpp"
#include "backends/cpu/kernels/q8/kernels.hpp"
#include "runtime/base/loop_nest.hpp"
#include "runtime/base/round_up.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::q8 {
namespace {

using In = QuantizedGemmInput;

/// Returns the offset in `operand` of y's matrix `batch`, broadcast over the dimensions before the
/// last two.
int64_t MatrixOffset(int64_t batch, const TensorView& y, const TensorView& operand) {
  int64_t offset = 0;
  for (int axis = y.rank - 3; axis >= 0; --axis) {
    offset += batch % y.dims[axis] * BroadcastStride(operand, y.rank, axis);
    batch /= y.dims[axis];
  }
  return offset;
}

/// One execution.
class PackingMatMul {
 public:
  explicit PackingMatMul(const KernelCall& call)
      : op_(call.op),
        attributes_(call.op.AttributesAs<QuantizedMatMulAttributes>()),
        packed_(*static_cast<const PackedGemm*>(call.state)),
        workspace_(PackingWorkspaceOf(call.op)),
        memory_(FirstLine(call.workspace)) {
    const TensorView& a = op_.Input(In::kX);
    const TensorView& b = op_.Input(In::kWeights);
    const bool transposed = attributes_.matmul.transpose_b != 0;
    depth_ = a.dims[a.rank - 1];
    channel_step_ = b.strides[transposed ? b.rank - 1 : b.rank - 2];
    output_step_ = b.strides[transposed ? b.rank - 2 : b.rank - 1];
    SplitBytes();
  }

  void Run(const ParallelRunner* parallel) const {
    const auto batches = static_cast<int>(workspace_.batches);
    ParallelFor(parallel, batches * packed_.group_count, [&](int begin, int end) {
      for (int i = begin; i < end; ++i) Pack(i / packed_.group_count, i % packed_.group_count);
    });
    const GemmEpilogue epilogue = MakeEpilogue(packed_, attributes_.output);
    // Whole matrices are shared out where there are enough of them.
    if (parallel != nullptr && batches >= parallel->threads) {
      ParallelFor(parallel, batches, [&](int begin, int end) {
        for (int i = begin; i < end; ++i) Multiply(i, epilogue, nullptr);
      });
      return;
    }
    for (int i = 0; i < batches; ++i) Multiply(i, epilogue, parallel);
  }

 private:
  [[nodiscard]] uint8_t* PartOf(int batch) const { return memory_ + batch * workspace_.stride; }
  [[nodiscard]] GemmGroup* GroupsOf(int batch) const {
    return reinterpret_cast<GemmGroup*>(PartOf(batch));
  }

  /// Works out what each pass takes of each byte less its zero point.
  void SplitBytes() {
    const TensorView& b = op_.Input(In::kWeights);
    const bool is_signed = b.dtype == DType::kI8;
    int32_t zero_point = 0;
    if (op_.HasInput(In::kWeightsZeroPoint)) {
      const TensorView& given = op_.Input(In::kWeightsZeroPoint);
      zero_point = is_signed ? given.As<const int8_t>()[0] : given.As<const uint8_t>()[0];
    }
    for (int byte = 0; byte < 256; ++byte) {
      const int32_t value = is_signed ? static_cast<int8_t>(byte) : byte;
      int32_t left = value - zero_point;
      values_[byte] = static_cast<int16_t>(left);
      if (packed_.sums_x) left = value - OffsetOfSummed(b.dtype);
      for (int pass = 0; pass < packed_.passes; ++pass) {
        parts_[pass][byte] = static_cast<int8_t>(ClampToByte(left));
        left -= ClampToByte(left);
      }
    }
  }

  /// Packs one group of columns of the second factor of a matrix.
  void Pack(int batch, int index) const {
    const GemmRoutines& routines = *packed_.routines;
    GemmGroup& group = GroupsOf(batch)[index];
    group = packed_.groups[index];
    // All groups before are of the greatest width.
    auto* bias = reinterpret_cast<int32_t*>(PartOf(batch) + workspace_.bias_offset) + group.first;
    auto* weights = reinterpret_cast<int8_t*>(PartOf(batch) + workspace_.weights_offset) +
                    int64_t{group.first} * Steps() * kDepthStep * packed_.passes;
    const uint8_t* b = op_.Input(In::kWeights).As<const uint8_t>() +
                       MatrixOffset(batch, op_.Output(), op_.Input(In::kWeights)) +
                       group.first * output_step_;
    // Places of channels that there are not, and of bytes that the last step reads twice.
    std::memset(weights, 0,
                static_cast<size_t>(int64_t{group.width} * Steps() * kDepthStep * packed_.passes));
    const auto x_zero_point = static_cast<uint32_t>(XZeroPointOf(op_, routines, 0));
    for (int p = 0; p < group.width; ++p) {
      const int channel = routines.channel_at(p, group.width);
      uint32_t sum = 0;
      if (channel < group.channels) {
        int places[kDepthStep];
        for (int k = 0; k < kDepthStep; ++k) places[k] = routines.weight_place(p, k, group.width);
        sum = PackColumn(b + channel * output_step_, places, group.width, weights);
      }
      bias[p] = static_cast<int32_t>(static_cast<uint32_t>(group.bias[p]) - x_zero_point * sum);
    }
    group.bias = bias;
    group.weights = weights;
  }

  /// Packs a column, and returns the sum of what it stands for, which wraps.
  uint32_t PackColumn(const uint8_t* b, const int (&places)[kDepthStep], int width,
                      int8_t* weights) const {
    const int64_t step_bytes = int64_t{kDepthStep} * width;
    const int64_t pass_bytes = step_bytes * Steps();
    uint32_t sum = 0;
    const auto add = [&](int d, int k, int8_t* to) {
      const uint8_t byte = b[d * channel_step_];
      sum += static_cast<uint32_t>(int32_t{values_[byte]});
      for (int pass = 0; pass < packed_.passes; ++pass) {
        to[pass * pass_bytes + places[k]] = parts_[pass][byte];
      }
    };
    int d = 0;
    for (; d + kDepthStep <= depth_; d += kDepthStep, weights += step_bytes) {
      for (int k = 0; k < kDepthStep; ++k) add(d + k, k, weights);
    }
    // The last step ends where the column does.
    for (; d < depth_; ++d) add(d, d - (depth_ - kDepthStep), weights);
    return sum;
  }

  void Multiply(int batch, const GemmEpilogue& epilogue, const ParallelRunner* parallel) const {
    const TensorView& a = op_.Input(In::kX);
    const TensorView& y = op_.Output();
    PackedGemm packed = packed_;
    packed.groups = GroupsOf(batch);
    GemmRows rows;
    rows.depth = depth_;
    rows.width = y.dims[y.rank - 2];
    rows.y_bytes = static_cast<int>(DTypeBytes(y.dtype));
    rows.x_steps.pixel = depth_;
    rows.y_steps.pixel = int64_t{y.dims[y.rank - 1]} * rows.y_bytes;
    rows.x = a.As<const uint8_t>() + MatrixOffset(batch, y, a);
    rows.y = y.As<uint8_t>() + batch * rows.width * rows.y_steps.pixel;
    rows.flip = FlipOf(a);
    RunGemmRows(packed, epilogue, rows, parallel);
  }

  [[nodiscard]] int Steps() const { return CeilDiv(depth_, kDepthStep); }

  const OpCall& op_;
  const QuantizedMatMulAttributes& attributes_;
  const PackedGemm& packed_;
  PackingWorkspace workspace_;
  uint8_t* memory_;
  int depth_;
  int64_t channel_step_;
  int64_t output_step_;
  int16_t values_[256];
  int8_t parts_[kMostPasses][256];
};

}  // namespace

Status PackingMatMulCheck(const KernelSetup& setup) {
  const OpCall& op = setup.op;
  TENON_RETURN_IF_ERROR(CheckResult(PackingMatMulSupports(op)));
  for (const int i : {In::kX, In::kWeights}) {
    TENON_ENSURE(op.Input(i).IsRowMajor(), kUnsupported, "fast products take row-major operands");
  }
  TENON_ENSURE(op.Output().IsRowMajor(), kUnsupported, "fast products take row-major operands");
  const auto needed = PackingMatMulWorkspace(op, 1);
  TENON_ENSURE(setup.workspace_bytes >= needed, kUnsupported, "workspace of {0} bytes, {1} needed",
               static_cast<int64_t>(setup.workspace_bytes), static_cast<int64_t>(needed));
  return CheckVectors(op);
}

Status PackingMatMulLoad(const KernelSetup& setup, void** shared) {
  const OpCall& op = setup.op;
  GemmShape shape;
  shape.outputs = op.Output().dims[op.Output().rank - 1];
  shape.channels = op.Input(In::kX).dims[op.Input(In::kX).rank - 1];
  return PackGemm(op, shape, GemmWeightsView(), op.AttributesAs<QuantizedMatMulAttributes>().output,
                  1, MostWeightPasses(op), FitsWideRows(shape.channels), shared);
}

Status PackingMatMulRun(const KernelCall& call) {
  const int64_t work =
      call.op.Output().Elements() * call.op.Input(In::kX).dims[call.op.Input(In::kX).rank - 1];
  PackingMatMul(call).Run(work < kSmallWork ? nullptr : call.parallel);
  return OkStatus();
}

}  // namespace tenon::cpu::q8
