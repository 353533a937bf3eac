#include "converter/driver/pass_list.hpp"

#include <algorithm>

#include "converter/passes/apply_input_formats.hpp"
#include "converter/passes/fold_input_format.hpp"
#include "converter/passes/passes.hpp"
#include "converter/passes/remove_constant_channels.hpp"
#include "converter/passes/store_weights.hpp"
#include "runtime/ops/host/op_host_row.hpp"

namespace tenon::converter {
namespace {

constexpr bool kForTime = true;

/// Passes for quantized graphs would leave all others unchanged.
bool IsQuantized(const Graph& graph) {
  const std::vector<OpId> ops = graph.OpOrder();
  return std::any_of(ops.begin(), ops.end(),
                     [&](OpId id) { return TraitsOf(graph.op(id).kind).quantized; });
}

}  // namespace

const std::vector<ListedPass>& ListOfPasses() {
  using enum PassPhase;
  using enum PassCondition;
  static const std::vector<ListedPass> list = {
      {kAdapt, kAlways, "compute-in-f32", ComputeInF32, "no kernel computes in f16"},
      {kAdapt, kWithInputFormats, "apply-input-formats", ApplyInputFormats,
       "what it inserts is folded and fused like the model's own ops"},

      {kClean, kAlways, "simplify", Simplify,
       "first, because what follows matches on what is really there"},
      {kClean, kFusing, "lift-rows", LiftRows,
       "what follows looks for pads, sums and functions beside convolutions", kForTime},
      {kClean, kFusing, "simplify", Simplify, "reshapes that met undo each other"},
      {kClean, kAlways, "fold-constants", FoldQuantizedConstants,
       "folds what simplify exposes, because fusion wants constant operands; quantized weights stay"
       " quantized"},
      {kClean, kAlways, "eliminate-dead-code", EliminateDeadCode,
       "readers left behind would block fusion"},

      {kIntoWeights, kFusing, "fuse-layer-norm", FuseLayerNorm,
       "before its parts are taken for ops that compute with integers one by one"},
      {kIntoWeights, kFusing, "fuse-channel-norm", FuseChannelNorm,
       "as fuse-layer-norm, and of what that leaves", kForTime},
      {kIntoWeights, kAlways, "fold-pad", FoldPad,
       "a batch norm behind the convolution must meet it"},
      {kIntoWeights, kFusing, "functions-before-moves", FunctionsBeforeMoves,
       "a batch norm behind a transposed convolution must meet it, too"},
      {kIntoWeights, kAlways, "fuse-affine", FuseAffine,
       "what is folded into weights must be there when they get their scales"},
      {kIntoWeights, kFusing, "fold-one-hot", FoldOneHot,
       "once a product has its bias, and before it gets scales"},
      {kIntoWeights, kAlways, "eliminate-dead-code", EliminateDeadCode,
       "constants left behind would be given scales"},

      {kFuse, kFusing, "fuse-layer-norm", FuseLayerNorm,
       "before quantize ops are fused with what makes their input, its root becomes the activation"
       " of a sum, and its scale part of a product"},
      {kFuse, kFusing, "fuse-channel-norm", FuseChannelNorm,
       "as fuse-layer-norm, and of what that leaves", kForTime},
      {kFuse, kFusing, "functions-before-moves", FunctionsBeforeMoves,
       "batch norms and activations behind transposed convolutions must meet them"},
      {kFuse, kFusing, "simplify", Simplify, "moves meet that functions stood between"},
      {kFuse, kQuantizedFusing, "fold-pad", FoldPad,
       "the float form says most plainly what is padded with"},
      {kFuse, kQuantizedFusing, "fuse-quantized", FuseQuantized,
       "before activations and residuals become parts of ops"},
      {kFuse, kQuantizedFusing, "fold-lookups", FoldLookups, "joins tables that requantizing left"},
      {kFuse, kQuantizedFusing, "simplify", Simplify,
       "moves that stood apart between quantize ops meet"},
      {kFuse, kQuantizedFusing, "move-channels-last", MoveChannelsLast,
       "the last that changes moves, because others would not join its parts", kForTime},
      {kFuse, kQuantizedFusing, "eliminate-dead-code", EliminateDeadCode,
       "float ops that integer ones replaced would be folded"},
      {kFuse, kQuantized, "fold-constants", FoldConstants,
       "weights that are still dequantized are read by float ops, as floats"},
      {kFuse, kQuantized, "eliminate-dead-code", EliminateDeadCode, "drops their quantized form"},
      {kFuse, kFusing, "fold-pad", FoldPad,
       "before anything is fused into the convolution behind it"},
      {kFuse, kFusing, "fuse-affine", FuseAffine,
       "batch norms and biases, while nothing stands after them"},
      {kFuse, kFusing, "fold-one-hot", FoldOneHot,
       "once a product has its bias, and before it gets an activation"},
      {kFuse, kFusing, "merge-branches", MergeBranches,
       "once weights have their scales, which a weight far above the others would spoil, and before"
       " an activation or a residual stands in the way"},
      {kFuse, kFusing, "fuse-activation", FuseActivation, "on convolutions and on additions"},
      {kFuse, kFusing, "fuse-residual", FuseResidual,
       "after activations: takes the addition with its activation"},
      {kFuse, kFusing, "eliminate-dead-code", EliminateDeadCode,
       "no constant that was folded into another is stored"},
      {kFuse, kAlways, "isolate-outputs", IsolateOutputs, "once no pass replaces outputs any more"},

      {kStore, kQuantizedFusing, "fuse-dynamic-products", FuseDynamicProducts,
       "asks kernels, and weights are in the form that the model has"},
      {kStore, kFusing, "fold-transposes", FoldTransposes,
       "attention takes the values of products without one"},
      {kStore, kFusing, "fuse-attention", FuseAttention, "asks kernels, which only this phase can"},

      {kStore, kAlways, "fold-input-formats", FoldInputFormats,
       "needs fused ops, and weights that are still f32 to scale"},
      {kStore, kAlways, "patches-to-products", PatchesToProducts,
       "asks kernels, and takes bytes as fold-input-formats leaves them; large patches that stay"
       " have portable code alone",
       kForTime},
      {kStore, kFusing, "simplify", Simplify, "turns of the patches' product meet others",
       kForTime},
      {kStore, kFusing, "trim-kernels", TrimKernels,
       "needs fused convolutions, and leaves fewer weights to store"},
      {kStore, kFusing, "order-channels", OrderChannels,
       "asks kernels, once convolutions have their activations", kForTime},
      {kStore, kFusing, "split-phases", SplitPhases, "asks kernels, too", kForTime},
      {kStore, kFusing, "move-channels-last", MoveChannelsLast,
       "asks kernels, and is the last that changes moves of floats", kForTime},
      {kStore, kQuantizedFusing, "remove-constant-channels", RemoveConstantChannels,
       "needs zero points apart from biases, and leaves fewer weights to store"},
      {kStore, kQuantizedFusing, "repeat-channels", RepeatChannels,
       "asks kernels, before weights get their form"},
      {kStore, kAlways, "store-weights", StoreWeights, "once no pass changes weights any more"},
      {kStore, kAlways, "fold-zero-points", FoldZeroPoints,
       "before anything is split, because parts share constants"},
      {kStore, kFusing, "scale-channels", ScaleChannels, "for the next one"},
      {kStore, kFusing, "merge-equal-ops", MergeEqualOps,
       "behind all that make one op of several, for which a second reader is in the way", kForTime},
      {kStore, kFusing, "multiply-by-reciprocals", MultiplyByReciprocals,
       "once no pass looks for quotients, and while their readers are ops of their own"},
      {kStore, kFusing, "sum-squares", SumSquares,
       "while squares are ops of their own, which quantized sums do not have"},
      {kStore, kFusing, "fuse-elementwise", FuseElementwise,
       "what no other pass could make part of an op, or of a format"},
      {kStore, kAlways, "keep-states", KeepStates, "once outputs are tensors that ops make"},
  };
  return list;
}

Status RunPhase(PassPhase phase, bool fuse, Graph& graph, PassContext& context,
                std::vector<PassReport>& reports) {
  const bool quantized = IsQuantized(graph);
  const auto holds = [&](PassCondition condition) {
    switch (condition) {
      case PassCondition::kAlways:
        return true;
      case PassCondition::kFusing:
        return fuse;
      case PassCondition::kQuantized:
        return quantized;
      case PassCondition::kQuantizedFusing:
        return quantized && fuse;
      case PassCondition::kWithInputFormats:
        return !context.input_formats.empty();
    }
    return false;
  };
  for (const ListedPass& listed : ListOfPasses()) {
    if (listed.phase != phase || !holds(listed.when) || (listed.for_time && !context.for_time))
      continue;
    TENON_RETURN_IF_ERROR(RunPass({listed.name, listed.run}, graph, context, reports));
    TENON_RETURN_IF_ERROR(CheckConstantLimit(graph, 0, listed.name));
  }
  return {};
}

bool HasPassesForTime(const std::vector<PassReport>& reports) {
  const std::vector<ListedPass>& list = ListOfPasses();
  return std::any_of(reports.begin(), reports.end(), [&](const PassReport& report) {
    return report.changed > 0 && std::any_of(list.begin(), list.end(), [&](const auto& listed) {
             return listed.for_time && listed.name == report.name;
           });
  });
}

}  // namespace tenon::converter
