// Computes functions of two tensors that broadcast over each other: blocks that stay in the
// first-level cache, of as many whole rows as fit, so that no short row is started by itself.
#include <cstring>

#include "backends/cpu/caps/f32_caps.hpp"
#include "backends/cpu/kernels/f32/choose_routines.hpp"
#include "backends/cpu/kernels/f32/kernels.hpp"
#include "backends/cpu/kernels/portable/elementwise/functions.hpp"
#include "runtime/base/loop_nest.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::f32 {
namespace {

/// Is the number of elements that cost about as much as waking a thread.
constexpr int64_t kSmallElements = 32'768;
/// A block of z, and one of each operand that is no row in memory.
constexpr int kBlockFloats = kElementwiseTile;
/// Short rows are filled by so many floats at a time: what lies behind a row is filled after it.
constexpr int kPiece = 8;

/// How a block's elements of one tensor lie: one element for all, one after the other, or neither.
enum class Form : uint8_t { kRepeated, kDense, kStrided };

/// Loops over z, x and y; strides are in elements.
LoopNest<3> Loops(const OpCall& op) {
  const TensorView& z = op.Output();
  LoopNest<3> nest;
  for (int k = 0; k < z.rank; ++k) {
    nest.Add(z.dims[k], z.strides[k], BroadcastStride(op.Input(BinaryInput::kX), z.rank, k),
             BroadcastStride(op.Input(BinaryInput::kY), z.rank, k));
  }
  nest.Simplify();
  return nest;
}

class Binary {
 public:
  explicit Binary(const KernelCall& call)
      : op_(call.op),
        attributes_(call.op.AttributesAs<BinaryAttributes>()),
        routines_(*static_cast<const Routines*>(call.state)),
        nest_(Loops(call.op)) {
    if (nest_.rank == 0) nest_.dims[nest_.rank++] = 1;
    first_ = nest_.rank;
    while (first_ > 0 && inner_ * nest_.dims[first_ - 1] <= kBlockFloats) {
      inner_ *= nest_.dims[--first_];
    }
    if (first_ == 0) {
      inner_ /= nest_.dims[0];
      piece_ = nest_.dims[0];
    } else {
      // Of the first dimension that does not fit, as much as does.
      piece_ = kBlockFloats / inner_;
      pieces_ = (nest_.dims[--first_] + piece_ - 1) / piece_;
    }
    for (int i = 0; i < 3; ++i) forms_[i] = FormOf(i);
    // The inner loops take one repeated operand at most.
    if (forms_[1] == Form::kRepeated && forms_[2] == Form::kRepeated) forms_[1] = Form::kStrided;
  }

  void Run(const ParallelRunner* parallel) const {
    int blocks = pieces_;
    for (int k = 0; k < first_; ++k) blocks *= nest_.dims[k];
    const bool is_small = op_.Output().Elements() < kSmallElements;
    ParallelFor(is_small ? nullptr : parallel, blocks, [&](int begin, int end) {
      for (int block = begin; block < end; ++block) RunBlock(block);
    });
  }

 private:
  [[nodiscard]] Form FormOf(int operand) const {
    int64_t dense = 1;
    bool repeats = true;
    bool is_dense = true;
    for (int k = nest_.rank - 1; k >= first_; --k) {
      const ptrdiff_t stride = nest_.strides[operand][k];
      repeats = repeats && stride == 0;
      is_dense = is_dense && stride == dense;
      dense *= nest_.dims[k];
    }
    if (repeats && operand != 0) return Form::kRepeated;
    return is_dense ? Form::kDense : Form::kStrided;
  }

  void RunBlock(int block) const {
    const int first = block % pieces_ * piece_;
    block /= pieces_;
    int64_t offsets[3];
    for (int i = 0; i < 3; ++i) offsets[i] = first * nest_.strides[i][first_];
    for (int k = first_ - 1; k >= 0; --k) {
      const int index = block % nest_.dims[k];
      block /= nest_.dims[k];
      for (int i = 0; i < 3; ++i) offsets[i] += index * nest_.strides[i][k];
    }
    const int left = nest_.dims[first_] - first;
    const int count = left < piece_ ? left : piece_;

    alignas(64) float x[kBlockFloats + kPiece];
    alignas(64) float y[kBlockFloats + kPiece];
    float* const z = op_.Output().As<float>() + offsets[0];
    float* const to = forms_[0] == Form::kDense ? z : x;
    Compute(Operand(1, offsets[1], count, x), Operand(2, offsets[2], count, y), to, count * inner_);
    if (to != z) Scatter(first_, count, inner_, to, z);
  }

  /// Returns where the block of an operand is, having copied it to `stage` if it is no row.
  const float* Operand(int operand, int64_t offset, int count, float* stage) const {
    const float* from = op_.Input(operand - 1).As<const float>() + offset;
    if (forms_[operand] != Form::kStrided) return from;
    Gather(operand, first_, count, inner_, from, stage);
    return stage;
  }

  /// Copies the first `count` of dimension `k`, each of `inner` elements, to a row.
  void Gather(int operand, int k, int count, int inner, const float* from, float* to) const {
    const ptrdiff_t stride = nest_.strides[operand][k];
    if (k + 1 == nest_.rank) {
      if (stride == 0) {
        float values[kPiece];
        for (float& value : values) value = *from;
        for (int i = 0; i < count; i += kPiece) std::memcpy(to + i, values, sizeof values);
      } else if (stride == 1) {
        for (int i = 0; i < count; ++i) to[i] = from[i];
      } else {
        for (int i = 0; i < count; ++i) to[i] = from[i * stride];
      }
      return;
    }
    const int next = nest_.dims[k + 1];
    if (stride == 0) {
      Gather(operand, k + 1, next, inner / next, from, to);
      return Repeat(to, inner, count * inner);
    }
    for (int i = 0; i < count; ++i) {
      Gather(operand, k + 1, next, inner / next, from + i * stride, to + i * inner);
    }
  }

  /// Fills a row with what its first `done` elements are.
  static void Repeat(float* row, int done, int all) {
    constexpr int kLong = 64;
    if (done < kLong) {
      for (int at = done; at < all; at += done) {
        for (int i = 0; i < done; i += kPiece) {
          float values[kPiece];
          std::memcpy(values, row + i, sizeof values);
          std::memcpy(row + at + i, values, sizeof values);
        }
      }
      return;
    }
    while (done < all) {
      const int more = done < all - done ? done : all - done;
      std::memcpy(row + done, row, sizeof(float) * static_cast<size_t>(more));
      done += more;
    }
  }

  void Scatter(int k, int count, int inner, const float* from, float* to) const {
    const ptrdiff_t stride = nest_.strides[0][k];
    if (k + 1 == nest_.rank) {
      for (int i = 0; i < count; ++i) to[i * stride] = from[i];
      return;
    }
    const int next = nest_.dims[k + 1];
    for (int i = 0; i < count; ++i) {
      Scatter(k + 1, next, inner / next, from + i * inner, to + i * stride);
    }
  }

  void Compute(const float* x, const float* y, float* z, int count) const {
    const Activation& activation = attributes_.activation;
    JoinCall call = {};
    call.function = attributes_.function;
    call.x = x;
    call.y = y;
    call.z = z;
    call.rows = 1;
    call.count = count;
    call.x_repeats = forms_[1] == Form::kRepeated;
    call.y_repeats = forms_[2] == Form::kRepeated;
    call.low = -__builtin_inff();
    call.high = __builtin_inff();
    routines_.join(call);
    if (HasVectorForm(activation.function)) {
      routines_.activate({activation.function, activation.a, activation.b, z, z, count, 1, count});
    } else if (activation.function != UnaryFunction::kIdentity) {
      portable::ActivateRow(activation, z, count);
    }
  }

  const OpCall& op_;
  const BinaryAttributes& attributes_;
  const Routines& routines_;
  LoopNest<3> nest_;
  int first_ = 0;   ///< the outermost dimension of a block
  int inner_ = 1;   ///< elements of a block for each index of it
  int piece_ = 1;   ///< indices of it in a block
  int pieces_ = 1;  ///< blocks along it
  Form forms_[3] = {};
};

}  // namespace

Status BinaryRun(const KernelCall& call) {
  Binary(call).Run(call.parallel);
  return OkStatus();
}

}  // namespace tenon::cpu::f32
