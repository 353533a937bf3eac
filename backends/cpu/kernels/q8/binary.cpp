// These kernels add, subtract and multiply quantized tensors.
#include <cstddef>
#include <cstring>

#include "backends/cpu/caps/q8_caps.hpp"
#include "backends/cpu/kernels/portable/stage.hpp"
#include "backends/cpu/kernels/q8/kernels.hpp"
#include "runtime/base/round_up.hpp"
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

/// Is the number of bytes that a repeated operand is written out to.
constexpr int kRepeatedBytes = 1024;
/// Longer rows cost more than starting them.
constexpr int kMostRepeated = kRepeatedBytes / 4;

/// Returns the input, 1 or 2, that has the same short row again and again where the others' rows
/// follow each other without gaps; else 0.
int RepeatedOperand(const LoopNest<3>& nest) {
  if (nest.rank < 2 || nest.RowLength() > kMostRepeated) return 0;
  const int outer = nest.rank - 2;
  int repeated = 0;
  for (int i = 0; i < 3; ++i) {
    if (nest.RowStride(i) != 1) return 0;
    if (nest.strides[i][outer] == nest.RowLength()) continue;
    if (nest.strides[i][outer] != 0 || repeated != 0 || i == 0) return 0;
    repeated = i;
  }
  return repeated;
}

/// Joins the two innermost dimensions, along which the repeated operand then stays where it is.
LoopNest<3> JoinRepeated(const LoopNest<3>& nest, int repeated) {
  LoopNest<3> joined = nest;
  --joined.rank;
  const int last = joined.rank - 1;
  joined.dims[last] = nest.dims[last] * nest.dims[last + 1];
  for (int i = 0; i < 3; ++i) joined.strides[i][last] = i == repeated ? 0 : 1;
  return joined;
}

/// Writes `row` bytes out again and again; returns how many bytes in all, whole rows of at most
/// `count`.
int Repeat(const uint8_t* from, int row, int count, uint8_t* to) {
  const int most = count < kRepeatedBytes ? count : kRepeatedBytes;
  const int bytes = most / row * row;
  std::memcpy(to, from, static_cast<size_t>(row));
  // What is written doubles each time.
  for (int done = row; done < bytes; done *= 2) {
    const int more = bytes - done < done ? bytes - done : done;
    std::memcpy(to + done, to, static_cast<size_t>(more));
  }
  return bytes;
}

/// Runs several rows at once, for which the repeated operand is written out.
void RunRepeated(const ByteRoutines& routines, const LoopNest<3>& nest, int repeated,
                 const portable::Cursor<3>& start, const BinaryCall& whole,
                 const ParallelRunner* parallel) {
  const int row = nest.RowLength();
  portable::RowSharing sharing = SharingOf(nest.Elements(), parallel);
  sharing.piece = RoundUp(sharing.piece, row);
  portable::ForEachRow(
      JoinRepeated(nest, repeated), start, parallel,
      [&](const portable::Cursor<3>& cursor, int count) {
        uint8_t bytes[kRepeatedBytes];
        const auto* from = reinterpret_cast<const uint8_t*>(cursor.at[repeated]);
        const int period = Repeat(from, row, count, bytes);
        BinaryCall call = whole;
        for (int done = 0; done < count; done += period) {
          call.count = count - done < period ? count - done : period;
          call.z = reinterpret_cast<uint8_t*>(cursor.at[0]) + done;
          const auto* other = reinterpret_cast<const uint8_t*>(cursor.at[3 - repeated]) + done;
          call.x = repeated == 1 ? bytes : other;
          call.y = repeated == 1 ? other : bytes;
          routines.binary(call);
        }
      },
      sharing);
}

/// Is what so many short rows are copied to, each operand's one after the other.
constexpr int kGatheredBytes = 512;

/// Returns true where rows without gaps are so short that copying several together costs less than
/// starting each.
bool AreShortRows(const LoopNest<3>& nest) {
  constexpr int kLeast = 4;
  if (nest.rank < 2 || nest.RowLength() < kLeast || nest.RowLength() > kGatheredBytes / 4) {
    return false;
  }
  return nest.RowStride(0) == 1 && nest.RowStride(1) == 1 && nest.RowStride(2) == 1;
}

/// Runs several rows at once, wherever each lies.
void RunGathered(const ByteRoutines& routines, const LoopNest<3>& nest,
                 const portable::Cursor<3>& start, const BinaryCall& whole,
                 const ParallelRunner* parallel) {
  const int row = nest.RowLength();
  const auto bytes = static_cast<size_t>(row);
  const int64_t rows = nest.Elements() / row;
  const int at_once = kGatheredBytes / row;
  const bool is_large = nest.Elements() >= SharingOf(nest.Elements(), parallel).least;
  const auto tasks = static_cast<int>(CeilDiv<int64_t>(rows, at_once));
  ParallelFor(is_large ? parallel : nullptr, tasks, [&](int begin, int end) {
    const int64_t first = int64_t{begin} * at_once;
    const int64_t last = int64_t{end} * at_once < rows ? int64_t{end} * at_once : rows;
    portable::Odometer<3> from(nest, nest.rank - 1, start, first);
    portable::Odometer<3> to(nest, nest.rank - 1, start, first);
    uint8_t gathered[3][kGatheredBytes];
    BinaryCall call = whole;
    call.z = gathered[0];
    call.x = gathered[1];
    call.y = gathered[2];
    for (int64_t done = first; done < last; done += at_once) {
      const int count = last - done < at_once ? static_cast<int>(last - done) : at_once;
      for (int i = 0; i < count; ++i, from.Next()) {
        std::memcpy(gathered[1] + i * row, from.cursor().at[1], bytes);
        std::memcpy(gathered[2] + i * row, from.cursor().at[2], bytes);
      }
      call.count = count * row;
      routines.binary(call);
      for (int i = 0; i < count; ++i, to.Next()) {
        std::memcpy(to.cursor().at[0], gathered[0] + i * row, bytes);
      }
    }
  });
}

/// Returns true if the tensor has `dim` elements along the axis that is `from_last` before the
/// last, `stride` elements apart.
bool HasAxis(const TensorView& view, int from_last, int32_t dim, int64_t stride) {
  const int axis = view.rank - 1 - from_last;
  return axis >= 0 && view.dims[axis] == dim && view.strides[axis] == stride;
}

/// Returns the elements of three tensors that are the same row, where they are so few that finding
/// their rows would take as long as they do; else 0.
int ElementsOfShortRow(const TensorView& x, const TensorView& y, const TensorView& z) {
  constexpr int64_t kShort = 2048;
  int64_t elements = 1;
  for (int i = 0; i < z.rank; ++i) {
    const int32_t dim = z.dims[z.rank - 1 - i];
    if (dim == 1) continue;  // of the operands too, since they broadcast
    if (!HasAxis(x, i, dim, elements) || !HasAxis(y, i, dim, elements) ||
        !HasAxis(z, i, dim, elements)) {
      return 0;
    }
    elements *= dim;
    if (elements > kShort) return 0;
  }
  return static_cast<int>(elements);
}

}  // namespace

Status BinaryCheck(const KernelSetup& setup) { return CheckResult(BinarySupports(setup.op)); }

Status BinaryRun(const KernelCall& call) {
  const auto& routines = *static_cast<const ByteRoutines*>(call.state);
  const TensorView& x = call.op.Input(In::kX);
  const TensorView& y = call.op.Input(In::kY);
  const TensorView& z = call.op.Output();
  const BinaryCall whole = CallOf(call.op);
  if (const int elements = ElementsOfShortRow(x, y, z)) {
    BinaryCall row = whole;
    row.z = z.As<uint8_t>();
    row.x = x.As<const uint8_t>();
    row.y = y.As<const uint8_t>();
    row.count = elements;
    routines.binary(row);
    return OkStatus();
  }
  LoopNest<3> nest = portable::ElementRows(z, x, y);
  const portable::Cursor<3> start = {{z.As<char>(), x.As<char>(), y.As<char>()}};
  if (const int repeated = RepeatedOperand(nest)) {
    RunRepeated(routines, nest, repeated, start, whole, call.parallel);
    return OkStatus();
  }
  if (AreShortRows(nest)) {
    RunGathered(routines, nest, start, whole, call.parallel);
    return OkStatus();
  }
  nest.LengthenRows();
  const bool is_contiguous =
      nest.RowStride(0) == 1 && nest.RowStride(1) == 1 && nest.RowStride(2) == 1;
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
