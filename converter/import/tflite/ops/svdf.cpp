// SVDF (Nakkiran et al., "Compressing deep neural networks using a rank-constrained topology",
// 2015): products with the weights of features go into a memory of the last ones, and those with
// the weights of time are summed over it.
#include "converter/import/tflite/ops/svdf.hpp"

#include "converter/import/import_graph.hpp"
#include "converter/import/tflite/ops/ops.hpp"
#include "converter/import/tflite/ops/recurrent.hpp"
#include "converter/ir/shapes.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

using In = SvdfInput;

/// The memory of the last inference less its oldest column.
Result<TensorId> WithoutOldest(Node& node, const SvdfShape& shape) {
  TENON_ASSIGN_OR_RETURN(const TensorId kept, node.Kept(In::kState));
  TENON_ASSIGN_OR_RETURN(const TensorId last,
                         node.Reshape(kept, {shape.batch, shape.filters, shape.memory}));
  return node.Slice(last, SliceAlong(node.ShapeOf(last), 2, 1, shape.memory - 1));
}

}  // namespace

Result<SvdfShape> ReadSvdfShape(Node& node, int32_t rank) {
  TENON_ASSIGN_OR_RETURN(const TensorId input, node.Input(In::kX));
  TENON_ASSIGN_OR_RETURN(const TensorId of_features, node.Input(In::kFeatures));
  TENON_ASSIGN_OR_RETURN(const TensorId of_times, node.Input(In::kTimes));
  const Shape x = node.ShapeOf(input);
  const Shape features = node.ShapeOf(of_features);
  const Shape times = node.ShapeOf(of_times);
  const bool fits = x.rank == 2 && features.rank == 2 && times.rank == 2 && times[1] >= 1 &&
                    features[1] == x[1] && features[0] == times[0];
  if (!fits) return InputError("its weights do not fit its input");
  if (rank < 1 || times[0] % rank != 0) return InputError("rank {} is out of range", rank);
  return SvdfShape{x[0], times[0], times[1], rank};
}

Result<TensorId> NextMemory(Node& node, TensorId newest, const SvdfShape& shape) {
  TENON_ASSIGN_OR_RETURN(TensorId memory, node.Reshape(newest, {shape.batch, shape.filters, 1}));
  if (shape.memory > 1) {
    TENON_ASSIGN_OR_RETURN(const TensorId older, WithoutOldest(node, shape));
    ConcatAttributes concat;
    concat.axis = 2;
    TENON_ASSIGN_OR_RETURN(memory, node.Emit(OpKind::kConcat, {older, memory}, Attributes(concat)));
  }
  TENON_ASSIGN_OR_RETURN(
      const TensorId flat,
      node.Reshape(memory, {shape.batch, int64_t{shape.filters} * shape.memory}));
  TENON_RETURN_IF_ERROR(node.Keep(In::kState, flat));
  return memory;
}

Result<TensorId> SumOverMemory(Node& node, TensorId memory, TensorId times,
                               const SvdfShape& shape) {
  TENON_ASSIGN_OR_RETURN(const TensorId weighed, node.Binary(BinaryFunction::kMul, memory, times));
  TENON_ASSIGN_OR_RETURN(const TensorId by_unit,
                         node.Reshape(weighed, {shape.batch, shape.filters / shape.rank,
                                                int64_t{shape.rank} * shape.memory}));
  TENON_ASSIGN_OR_RETURN(const TensorId y, node.Reduce(ReduceFunction::kSum, by_unit, 4, false));
  if (!node.HasInput(In::kBias)) return y;
  TENON_ASSIGN_OR_RETURN(const TensorId bias, node.Input(In::kBias));
  return node.Binary(BinaryFunction::kAdd, y, bias);
}

Status LowerSvdf(Node& node) {
  const auto* options = node.stored().builtin_options_as_SVDFOptions();
  if (options == nullptr) return InputError("its options are missing");
  TENON_ASSIGN_OR_RETURN(const DType state, node.InputDType(In::kState));
  if (state != DType::kF32) return InputError("a state of {} is not supported", DTypeName(state));
  TENON_ASSIGN_OR_RETURN(const SvdfShape shape, ReadSvdfShape(node, options->rank()));
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(In::kX));
  TENON_ASSIGN_OR_RETURN(const TensorId features, node.Input(In::kFeatures));
  TENON_ASSIGN_OR_RETURN(const TensorId times, node.Input(In::kTimes));
  TENON_ASSIGN_OR_RETURN(const TensorId newest, Product(node, x, features));
  TENON_ASSIGN_OR_RETURN(const TensorId memory, NextMemory(node, newest, shape));
  TENON_ASSIGN_OR_RETURN(TensorId y, SumOverMemory(node, memory, times, shape));
  TENON_ASSIGN_OR_RETURN(y, node.Activate(y, options->fused_activation_function()));
  return node.SetOutput(0, y);
}

}  // namespace tenon::converter::tflite
