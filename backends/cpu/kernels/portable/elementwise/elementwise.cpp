// Takes a few elements at a time through all steps.
#include "backends/cpu/kernels/portable/elementwise/functions.hpp"
#include "backends/cpu/kernels/portable/elementwise/steps.hpp"
#include "backends/cpu/kernels/portable/kernels.hpp"
#include "backends/cpu/kernels/portable/stage.hpp"

namespace tenon::cpu::portable {
namespace {

constexpr int kFloatBytes = 4;

/// The steps of one call, with the rows that compute them.
class Steps {
 public:
  explicit Steps(const OpCall& op)
      : attributes_(op.AttributesAs<ElementwiseAttributes>()), count_(attributes_.steps) {
    for (int step = 0; step < count_; ++step) {
      const int input = attributes_.InputOf(step);
      const BinaryFunction function = attributes_.functions[step];
      if (input == 0) continue;
      rows_[step] = attributes_.operands[step] > 0 ? ChooseBinaryRow(function, op.Input(input))
                                                   : FindBinaryRow(function, DType::kF32);
    }
  }

  /// Takes `count` values, at most kStageElements, from `first` of a row on through all steps.
  /// `strides` are those of the cursor's operands along the row, in bytes.
  void Run(const Cursor<kStepOperands>& cursor, const ptrdiff_t (&strides)[kStepOperands],
           int first, int count, Stage& values) const {
    Stage staged;
    for (int step = 0; step < count_; ++step) {
      if (const int input = attributes_.InputOf(step); input != 0) {
        const Stager stager = {strides[1 + input], kFloatBytes};
        const char* operand = stager.Read(cursor.at[1 + input], first, count, staged);
        const bool is_second = attributes_.operands[step] > 0;
        rows_[step](is_second ? values.bytes : operand, is_second ? operand : values.bytes,
                    values.bytes, count);
      }
      ActivateRow(attributes_.ActivationOf(step), reinterpret_cast<float*>(values.bytes), count);
    }
  }

 private:
  const ElementwiseAttributes& attributes_;
  int count_;
  BinaryRowFunction rows_[kMostElementwiseSteps] = {};
};

}  // namespace

Status ElementwiseRun(const KernelCall& call) {
  const OpCall& op = call.op;
  if (op.Output().Elements() == 0) return OkStatus();
  LoopNest<kStepOperands> nest = StepLoops<kStepOperands>(op);
  nest.LengthenRows();
  Cursor<kStepOperands> start = {{op.Output().As<char>()}};
  ptrdiff_t strides[kStepOperands];
  for (int i = 0; i < kStepOperands; ++i) {
    for (int k = 0; k < nest.rank; ++k) nest.strides[i][k] *= kFloatBytes;
    strides[i] = nest.RowStride(i);
    if (i > 0 && op.HasInput(i - 1)) start.at[i] = op.Input(i - 1).As<char>();
  }
  const Steps steps(op);
  ForEachRow(nest, start, call.parallel, [&](const Cursor<kStepOperands>& cursor, int count) {
    Stage values;
    for (int done = 0; done < count; done += kStageElements) {
      const int piece = count - done < kStageElements ? count - done : kStageElements;
      CopyRow<uint32_t>(values.bytes, kFloatBytes, cursor.at[1] + done * strides[1], strides[1],
                        piece);
      steps.Run(cursor, strides, done, piece, values);
      CopyRow<uint32_t>(cursor.at[0] + done * strides[0], strides[0], values.bytes, kFloatBytes,
                        piece);
    }
  });
  return OkStatus();
}

}  // namespace tenon::cpu::portable
