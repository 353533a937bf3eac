// These kernels add, subtract and multiply quantized tensors.
#include "backends/cpu/caps/q8_caps.hpp"
#include "backends/cpu/kernels/portable/stage.hpp"
#include "backends/cpu/kernels/q8/kernels.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::q8 {
namespace {

using In = BinaryInput;

ByteFunction FunctionOf(BinaryFunction function) {
  if (function == BinaryFunction::kAdd) return ByteFunction::kAdd;
  return function == BinaryFunction::kSub ? ByteFunction::kSubtract : ByteFunction::kMultiply;
}

BinaryCall CallOf(const OpCall& op) {
  const auto& attributes = op.AttributesAs<QuantizedBinaryAttributes>();
  const DType x = op.Input(In::kX).dtype;
  const DType y = op.Input(In::kY).dtype;
  BinaryCall call = {};
  call.function = FunctionOf(attributes.function);
  call.fixed_point = attributes.output.rounding == Rounding::kFixedPoint;
  call.x_flip = FlipToI8(x);
  call.y_flip = FlipToI8(y);
  call.x_zero_point = attributes.x_zero_point - OffsetToI8(x);
  call.y_zero_point = attributes.y_zero_point - OffsetToI8(y);
  call.x_scale = attributes.x_scale.scale;
  call.y_scale = attributes.y_scale.scale;
  call.z_scale = attributes.output_scale.scale;
  call.left_shift = attributes.left_shift;
  call.x_factor = FactorOf(attributes.x_scale);
  call.y_factor = FactorOf(attributes.y_scale);
  call.z_factor = FactorOf(attributes.output_scale);
  call.output = ByteOutputOf(attributes.output);
  return call;
}

/// Reads an input's row. A repeated element (stride 0) fills its stage once per row.
class RowReader {
 public:
  RowReader(const char* row, ptrdiff_t stride, int count) : stager_{stride, 1}, row_(row) {
    if (stride == 0) (void)stager_.Read(row_, 0, Least(count), stage_);
  }

  [[nodiscard]] const uint8_t* Read(int first, int count) {
    const char* from =
        stager_.stride == 0 ? stage_.bytes : stager_.Read(row_, first, count, stage_);
    return reinterpret_cast<const uint8_t*>(from);
  }

 private:
  static int Least(int count) {
    return count < portable::kStageElements ? count : portable::kStageElements;
  }

  portable::Stager stager_;
  const char* row_;
  portable::Stage stage_;
};

void RunStaged(const ByteRoutines& routines, const LoopNest<3>& nest,
               const portable::Cursor<3>& cursor, int count, BinaryCall call) {
  RowReader x(cursor.at[1], nest.RowStride(1), count);
  RowReader y(cursor.at[2], nest.RowStride(2), count);
  const portable::Stager z = {nest.RowStride(0), 1};
  portable::Stage stage;
  for (int done = 0; done < count; done += portable::kStageElements) {
    call.count = count - done < portable::kStageElements ? count - done : portable::kStageElements;
    call.x = x.Read(done, call.count);
    call.y = y.Read(done, call.count);
    call.z = reinterpret_cast<uint8_t*>(z.Target(cursor.at[0], done, stage));
    routines.binary(call);
    z.Write(cursor.at[0], done, call.count, stage);
  }
}

/// A microsecond or two of work pays a second thread, which holds half of the operands in its
/// caches. Threads get equal shares, in few pieces: those in fixed point begin with a table.
portable::RowSharing SharingOf(int64_t elements, const ParallelRunner* parallel) {
  constexpr int kLeastPiece = 1024;
  constexpr int kPiecesPerThread = 2;
  portable::RowSharing sharing;
  if (parallel == nullptr || parallel->threads == 1) return sharing;
  sharing.least = 8 * kLeastPiece;
  const int64_t pieces = int64_t{parallel->threads} * kPiecesPerThread;
  const int64_t share = (elements + pieces - 1) / pieces;
  if (share < sharing.piece) sharing.piece = static_cast<int32_t>(share);
  if (sharing.piece < kLeastPiece) sharing.piece = kLeastPiece;
  return sharing;
}

}  // namespace

Status BinaryCheck(const KernelSetup& setup) { return CheckResult(BinarySupports(setup.op)); }

Status BinaryRun(const KernelCall& call) {
  const auto& routines = *static_cast<const ByteRoutines*>(call.state);
  const TensorView& x = call.op.Input(In::kX);
  const TensorView& y = call.op.Input(In::kY);
  const TensorView& z = call.op.Output();
  LoopNest<3> nest = portable::ElementRows(z, x, y);
  nest.LengthenRows();
  const BinaryCall whole = CallOf(call.op);
  const bool is_contiguous =
      nest.RowStride(0) == 1 && nest.RowStride(1) == 1 && nest.RowStride(2) == 1;
  const portable::Cursor<3> start = {{z.As<char>(), x.As<char>(), y.As<char>()}};
  portable::ForEachRow(
      nest, start, call.parallel,
      [&](const portable::Cursor<3>& cursor, int count) {
        if (!is_contiguous) return RunStaged(routines, nest, cursor, count, whole);
        BinaryCall row = whole;
        row.z = reinterpret_cast<uint8_t*>(cursor.at[0]);
        row.x = reinterpret_cast<const uint8_t*>(cursor.at[1]);
        row.y = reinterpret_cast<const uint8_t*>(cursor.at[2]);
        row.count = count;
        routines.binary(row);
      },
      SharingOf(nest.Elements(), call.parallel));
  return OkStatus();
}

}  // namespace tenon::cpu::q8
