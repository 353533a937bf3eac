#include "converter/import/tflite/ops/recurrent.hpp"

#include "converter/import/import_graph.hpp"
#include "converter/import/tflite/ops/ops.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

constexpr int64_t kMostSteps = 4096;

Result<TensorId> Part(Node& node, TensorId x, int axis, int64_t begin, int64_t size) {
  SliceAttributes slice;
  slice.rank = 2;
  for (int i = 0; i < 2; ++i) slice.sizes[i] = node.ShapeOf(x)[i];
  slice.begins[axis] = static_cast<int32_t>(begin);
  slice.sizes[axis] = static_cast<int32_t>(size);
  slice.steps[0] = slice.steps[1] = 1;
  return node.Slice(x, slice);
}

/// h = f(W x + R h + b), what each step gives and leaves (Elman, "Finding structure in time",
/// 1990).
struct SimpleLayer {
  int weights = 1;
  int recurrent = 2;
  int bias = 3;
  int state = 4;
  int aux_weights = -1;
};

Result<TensorId> SumsOfInputs(Node& node, const SimpleLayer& layer, const Sequence& x,
                              const Sequence* aux) {
  TENON_ASSIGN_OR_RETURN(const TensorId weights, node.Input(layer.weights));
  TENON_ASSIGN_OR_RETURN(const TensorId bias, node.Input(layer.bias));
  TENON_ASSIGN_OR_RETURN(TensorId sums, Product(node, x.rows, weights));
  if (aux != nullptr) {
    TENON_ASSIGN_OR_RETURN(const TensorId aux_weights, node.Input(layer.aux_weights));
    TENON_ASSIGN_OR_RETURN(const TensorId more, Product(node, aux->rows, aux_weights));
    TENON_ASSIGN_OR_RETURN(sums, node.Binary(BinaryFunction::kAdd, sums, more));
  }
  return node.Binary(BinaryFunction::kAdd, sums, bias);
}

/// What each step gives, in order of time.
Result<std::vector<TensorId>> Steps(Node& node, const SimpleLayer& layer, const Sequence& x,
                                    const Sequence* aux, bool backward,
                                    format::ActivationFunctionType activation) {
  TENON_ASSIGN_OR_RETURN(const TensorId sums, SumsOfInputs(node, layer, x, aux));
  TENON_ASSIGN_OR_RETURN(const TensorId recurrent, node.Input(layer.recurrent));
  TENON_ASSIGN_OR_RETURN(TensorId state, node.Kept(layer.state));
  std::vector<TensorId> steps(static_cast<size_t>(x.steps), kNone);
  for (int64_t i = 0; i < x.steps; ++i) {
    const int64_t step = backward ? x.steps - 1 - i : i;
    TENON_ASSIGN_OR_RETURN(const TensorId given, Rows(node, sums, step * x.batch, x.batch));
    TENON_ASSIGN_OR_RETURN(const TensorId recalled, Product(node, state, recurrent));
    TENON_ASSIGN_OR_RETURN(state, node.Binary(BinaryFunction::kAdd, given, recalled));
    TENON_ASSIGN_OR_RETURN(state, node.Activate(state, activation));
    steps[static_cast<size_t>(step)] = state;
  }
  TENON_RETURN_IF_ERROR(node.Keep(layer.state, state));
  return steps;
}

}  // namespace

Result<TensorId> Product(Node& node, TensorId x, TensorId weights) {
  MatMulAttributes attributes;
  attributes.transpose_b = 1;
  return node.Emit(OpKind::kMatMul, {x, weights}, Attributes(attributes));
}

Result<TensorId> Rows(Node& node, TensorId x, int64_t begin, int64_t size) {
  return Part(node, x, 0, begin, size);
}

Result<TensorId> Columns(Node& node, TensorId x, int64_t begin, int64_t size) {
  return Part(node, x, 1, begin, size);
}

Result<Sequence> ReadSequence(Node& node, int index, bool time_major) {
  TENON_ASSIGN_OR_RETURN(TensorId x, node.Input(index));
  if (node.ShapeOf(x).rank != 3) return InputError("its input must have 3 dimensions");
  if (!time_major) {
    TENON_ASSIGN_OR_RETURN(x, node.Transpose(x, {1, 0, 2}));
  }
  const Shape shape = node.ShapeOf(x);
  Sequence sequence{kNone, shape[0], shape[1]};
  if (sequence.steps < 1 || sequence.steps > kMostSteps) {
    return InputError("{} steps are out of range: 1 to {}", sequence.steps, kMostSteps);
  }
  TENON_ASSIGN_OR_RETURN(sequence.rows,
                         node.Reshape(x, {sequence.steps * sequence.batch, shape[2]}));
  return sequence;
}

Result<TensorId> JoinSteps(Node& node, const std::vector<TensorId>& steps, bool time_major) {
  const Shape shape = node.ShapeOf(steps[0]);
  TensorId y = steps[0];
  if (steps.size() > 1) {
    TENON_ASSIGN_OR_RETURN(y, node.Emit(OpKind::kConcat, steps, Attributes(ConcatAttributes())));
  }
  TENON_ASSIGN_OR_RETURN(y,
                         node.Reshape(y, {static_cast<int64_t>(steps.size()), shape[0], shape[1]}));
  return time_major ? Result<TensorId>(y) : node.Transpose(y, {1, 0, 2});
}

Status SetBothWays(Node& node, TensorId forward, TensorId backward, bool merge) {
  if (!merge) {
    TENON_RETURN_IF_ERROR(node.SetOutput(0, forward));
    return node.SetOutput(1, backward);
  }
  ConcatAttributes concat;
  concat.axis = 2;
  TENON_ASSIGN_OR_RETURN(const TensorId both,
                         node.Emit(OpKind::kConcat, {forward, backward}, Attributes(concat)));
  return node.SetOutput(0, both);
}

Status LowerSequenceRnn(Node& node) {
  const auto* options = node.stored().builtin_options_as_SequenceRNNOptions();
  if (options == nullptr) return InputError("its options are missing");
  TENON_ASSIGN_OR_RETURN(const Sequence x, ReadSequence(node, 0, options->time_major()));
  TENON_ASSIGN_OR_RETURN(const std::vector<TensorId> steps,
                         Steps(node, SimpleLayer(), x, nullptr, /*backward=*/false,
                               options->fused_activation_function()));
  TENON_ASSIGN_OR_RETURN(const TensorId y, JoinSteps(node, steps, options->time_major()));
  return node.SetOutput(0, y);
}

// One step of a batch.
Status LowerRnn(Node& node) {
  const auto* options = node.stored().builtin_options_as_RNNOptions();
  if (options == nullptr) return InputError("its options are missing");
  TENON_ASSIGN_OR_RETURN(const TensorId given, node.Input(0));
  const Shape shape = node.ShapeOf(given);
  if (shape.rank != 2) return InputError("its input must have 2 dimensions");
  const Sequence x{given, 1, shape[0]};
  TENON_ASSIGN_OR_RETURN(const std::vector<TensorId> steps,
                         Steps(node, SimpleLayer(), x, nullptr, /*backward=*/false,
                               options->fused_activation_function()));
  return node.SetOutput(0, steps[0]);
}

Status LowerBidirectionalRnn(Node& node) {
  constexpr SimpleLayer kForward = {1, 2, 3, 4, 10};
  constexpr SimpleLayer kBackward = {5, 6, 7, 8, 11};
  constexpr int kAux = 9;
  const auto* options = node.stored().builtin_options_as_BidirectionalSequenceRNNOptions();
  if (options == nullptr) return InputError("its options are missing");
  const bool time_major = options->time_major();
  TENON_ASSIGN_OR_RETURN(const Sequence x, ReadSequence(node, 0, time_major));
  // A layer above another may read what that one's way back has left: beside its input or, without
  // weights for it, on the way back instead of it, which TFLite does where time comes first alone.
  const bool has_aux = node.HasInput(kForward.aux_weights);
  const bool instead = !has_aux && time_major && node.HasInput(kAux);
  Sequence beside;
  if (has_aux || instead) {
    TENON_ASSIGN_OR_RETURN(beside, ReadSequence(node, kAux, time_major));
  }
  const Sequence* aux = has_aux ? &beside : nullptr;
  TensorId ways[2] = {kNone, kNone};
  for (const bool backward : {false, true}) {
    TENON_ASSIGN_OR_RETURN(
        const std::vector<TensorId> steps,
        Steps(node, backward ? kBackward : kForward, backward && instead ? beside : x, aux,
              backward, options->fused_activation_function()));
    TENON_ASSIGN_OR_RETURN(ways[backward ? 1 : 0], JoinSteps(node, steps, time_major));
  }
  return SetBothWays(node, ways[0], ways[1], options->merge_outputs());
}

}  // namespace tenon::converter::tflite
