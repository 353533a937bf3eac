// Computes functions of two tensors that broadcast over each other: rows of a vector and more where
// they lie, others in blocks that stay in the first-level cache, of as many whole rows as fit, so
// that no short row is started by itself.
#include "backends/cpu/caps/f32_caps.hpp"
#include "backends/cpu/kernels/f32/choose_routines.hpp"
#include "backends/cpu/kernels/f32/element_blocks.hpp"
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
        test_(GivesBool(attributes_.function)
                  ? portable::FindBinaryRow(attributes_.function, DType::kF32)
                  : nullptr),
        nest_(Loops(call.op)) {
    if (nest_.rank == 0) nest_.dims[nest_.rank++] = 1;
    if (HasRows()) return;
    blocks_ = ElementBlocks<3>(nest_, kBlockFloats);
    for (int i = 0; i < 3; ++i) forms_[i] = blocks_.FormOf(i);
    // The inner loops take one repeated operand at most, those of a comparison none.
    if (forms_[1] == BlockForm::kRepeated &&
        (forms_[2] == BlockForm::kRepeated || test_ != nullptr)) {
      forms_[1] = BlockForm::kStrided;
    }
    if (forms_[2] == BlockForm::kRepeated && test_ != nullptr) forms_[2] = BlockForm::kStrided;
  }

  void Run(const ParallelRunner* parallel) const {
    if (HasRows()) return RunRows(parallel);
    const bool is_small = op_.Output().Elements() < kSmallElements;
    ParallelFor(is_small ? nullptr : parallel, blocks_.Count(), [&](int begin, int end) {
      for (int block = begin; block < end; ++block) {
        test_ == nullptr ? RunBlock(block) : TestBlock(block);
      }
    });
  }

 private:
  /// Returns true if the rows of all operands are elements that follow each other or one that
  /// repeats, and the rows of the innermost two loops are worth a call.
  [[nodiscard]] bool HasRows() const {
    const int last = nest_.rank - 1;
    const int32_t row = nest_.dims[last];
    if (test_ != nullptr || last < 1 || row < kShortestBinaryRow ||
        int64_t{row} * nest_.dims[last - 1] < kFewestRowElements) {
      return false;
    }
    const ptrdiff_t x = nest_.strides[1][last];
    const ptrdiff_t y = nest_.strides[2][last];
    return nest_.strides[0][last] == 1 && (x == 1 || y == 1) && (x == 1 || x == 0) &&
           (y == 1 || y == 0);
  }

  void RunRows(const ParallelRunner* parallel) const {
    const int last = nest_.rank - 1;
    const int32_t all = nest_.dims[last - 1];
    const int fit = kBlockFloats / nest_.dims[last];
    const int at_once = fit < 1 ? 1 : (fit < all ? fit : all);
    const int pieces = (all + at_once - 1) / at_once;
    int blocks = pieces;
    for (int k = 0; k + 1 < last; ++k) blocks *= nest_.dims[k];
    const bool is_small = op_.Output().Elements() < kSmallElements;
    ParallelFor(is_small ? nullptr : parallel, blocks, [&](int begin, int end) {
      for (int block = begin; block < end; ++block) {
        const int first = block % pieces * at_once;
        int64_t offsets[3];
        for (int i = 0; i < 3; ++i) offsets[i] = first * nest_.strides[i][last - 1];
        int rest = block / pieces;
        for (int k = last - 2; k >= 0; --k) {
          const int index = rest % nest_.dims[k];
          rest /= nest_.dims[k];
          for (int i = 0; i < 3; ++i) offsets[i] += index * nest_.strides[i][k];
        }
        const int left = all - first;
        JoinCall call = {};
        call.x = op_.Input(BinaryInput::kX).As<const float>() + offsets[1];
        call.y = op_.Input(BinaryInput::kY).As<const float>() + offsets[2];
        call.z = op_.Output().As<float>() + offsets[0];
        call.x_step = nest_.strides[1][last - 1];
        call.y_step = nest_.strides[2][last - 1];
        call.z_step = nest_.strides[0][last - 1];
        call.rows = left < at_once ? left : at_once;
        call.count = nest_.dims[last];
        call.x_repeats = nest_.strides[1][last] == 0;
        call.y_repeats = nest_.strides[2][last] == 0;
        Compute(call);
      }
    });
  }

  void RunBlock(int index) const {
    const ElementBlock<3> block = blocks_.At(index);
    alignas(64) float x[kBlockFloats + kBlockPiece];
    alignas(64) float y[kBlockFloats + kBlockPiece];
    float* const z = op_.Output().As<float>() + block.offsets[0];
    float* const to = forms_[0] == BlockForm::kDense ? z : x;
    JoinCall call = {};
    call.x = Operand(1, block, x);
    call.y = Operand(2, block, y);
    call.z = to;
    call.rows = 1;
    call.count = block.elements;
    call.x_repeats = forms_[1] == BlockForm::kRepeated;
    call.y_repeats = forms_[2] == BlockForm::kRepeated;
    Compute(call);
    if (to != z) blocks_.Scatter(block, to, z);
  }

  /// Compares the elements of a block.
  void TestBlock(int index) const {
    const ElementBlock<3> block = blocks_.At(index);
    alignas(64) float x[kBlockFloats + kBlockPiece];
    alignas(64) float y[kBlockFloats + kBlockPiece];
    uint8_t results[kBlockFloats];
    uint8_t* const z = op_.Output().As<uint8_t>() + block.offsets[0];
    const bool is_dense = forms_[0] == BlockForm::kDense;
    test_(Operand(1, block, x), Operand(2, block, y), is_dense ? z : results, block.elements);
    if (!is_dense) blocks_.Scatter<uint8_t>(block, results, z);
  }

  /// Returns where the block of an operand is, having copied it to `stage` if it is no row.
  const float* Operand(int operand, const ElementBlock<3>& block, float* stage) const {
    const float* from = op_.Input(operand - 1).As<const float>() + block.offsets[operand];
    if (forms_[operand] != BlockForm::kStrided) return from;
    blocks_.Gather(operand, block, from, stage);
    return stage;
  }

  /// Computes rows whose operands and places are given.
  void Compute(JoinCall& call) const {
    const Activation& activation = attributes_.activation;
    call.function = attributes_.function;
    call.low = -__builtin_inff();
    call.high = __builtin_inff();
    routines_.join(call);
    if (HasVectorForm(activation.function)) {
      routines_.activate({activation.function, activation.a, activation.b, call.z, call.z_step,
                          call.z, call.z_step, call.rows, call.count});
    } else if (activation.function != UnaryFunction::kIdentity) {
      for (int row = 0; row < call.rows; ++row) {
        portable::ActivateRow(activation, call.z + row * call.z_step, call.count);
      }
    }
  }

  const OpCall& op_;
  const BinaryAttributes& attributes_;
  const Routines& routines_;
  const portable::BinaryRowFunction test_;  ///< of comparisons, else null
  LoopNest<3> nest_;
  ElementBlocks<3> blocks_;
  BlockForm forms_[3] = {};
};

}  // namespace

Status BinaryRun(const KernelCall& call) {
  Binary(call).Run(call.parallel);
  return OkStatus();
}

}  // namespace tenon::cpu::f32
