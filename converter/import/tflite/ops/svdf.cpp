// SVDF (Nakkiran et al., "Compressing deep neural networks using a rank-constrained topology",
// 2015): products with the weights of features go into a memory of the last ones, and those with
// the weights of time are summed over it.
#include "converter/import/import_graph.hpp"
#include "converter/import/tflite/ops/ops.hpp"
#include "converter/import/tflite/ops/recurrent.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

enum : int { kX = 0, kFeatures = 1, kTimes = 2, kBias = 3, kState = 4 };

/// [batch, filters, memory]: what the last inference left without the oldest, and the newest.
Result<TensorId> NextMemory(Node& node, TensorId newest, const Shape& times) {
  const int64_t batch = node.ShapeOf(newest)[0];
  const int32_t filters = times[0];
  const int32_t memory = times[1];
  TENON_ASSIGN_OR_RETURN(newest, node.Reshape(newest, {batch, filters, 1}));
  if (memory == 1) return newest;
  TENON_ASSIGN_OR_RETURN(const TensorId kept, node.Kept(kState));
  TENON_ASSIGN_OR_RETURN(const TensorId last, node.Reshape(kept, {batch, filters, memory}));
  SliceAttributes slice;
  slice.rank = 3;
  const int32_t sizes[] = {static_cast<int32_t>(batch), filters, memory - 1};
  for (int i = 0; i < 3; ++i) {
    slice.sizes[i] = sizes[i];
    slice.steps[i] = 1;
  }
  slice.begins[2] = 1;
  TENON_ASSIGN_OR_RETURN(const TensorId older, node.Slice(last, slice));
  ConcatAttributes concat;
  concat.axis = 2;
  return node.Emit(OpKind::kConcat, {older, newest}, Attributes(concat));
}

Status CheckShapes(Node& node, const Shape& x, const Shape& features, const Shape& times,
                   int32_t rank) {
  const bool fits = x.rank == 2 && features.rank == 2 && times.rank == 2 && times[1] >= 1 &&
                    features[1] == x[1] && features[0] == times[0];
  if (!fits) return InputError("its weights do not fit its input");
  if (rank < 1 || times[0] % rank != 0) return InputError("rank {} is out of range", rank);
  TENON_ASSIGN_OR_RETURN(const DType state, node.InputDType(kState));
  if (state != DType::kF32) return InputError("a state of integers is not supported");
  return {};
}

}  // namespace

Status LowerSvdf(Node& node) {
  const auto* options = node.stored().builtin_options_as_SVDFOptions();
  if (options == nullptr) return InputError("its options are missing");
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(kX));
  TENON_ASSIGN_OR_RETURN(const TensorId features, node.Input(kFeatures));
  TENON_ASSIGN_OR_RETURN(const TensorId weights, node.Input(kTimes));
  const Shape times = node.ShapeOf(weights);
  const int32_t rank = options->rank();
  TENON_RETURN_IF_ERROR(CheckShapes(node, node.ShapeOf(x), node.ShapeOf(features), times, rank));
  const int64_t batch = node.ShapeOf(x)[0];
  TENON_ASSIGN_OR_RETURN(const TensorId newest, Product(node, x, features));
  TENON_ASSIGN_OR_RETURN(const TensorId memory, NextMemory(node, newest, times));
  TENON_ASSIGN_OR_RETURN(const TensorId flat,
                         node.Reshape(memory, {batch, int64_t{times[0]} * times[1]}));
  TENON_RETURN_IF_ERROR(node.Keep(kState, flat));
  TENON_ASSIGN_OR_RETURN(const TensorId weighed,
                         node.Binary(BinaryFunction::kMul, memory, weights));
  // The filters of a unit are neighbours.
  TENON_ASSIGN_OR_RETURN(const TensorId by_unit,
                         node.Reshape(weighed, {batch, times[0] / rank, rank * int64_t{times[1]}}));
  TENON_ASSIGN_OR_RETURN(TensorId y, node.Reduce(ReduceFunction::kSum, by_unit, 4, false));
  if (node.HasInput(kBias)) {
    TENON_ASSIGN_OR_RETURN(const TensorId bias, node.Input(kBias));
    TENON_ASSIGN_OR_RETURN(y, node.Binary(BinaryFunction::kAdd, y, bias));
  }
  TENON_ASSIGN_OR_RETURN(y, node.Activate(y, options->fused_activation_function()));
  return node.SetOutput(0, y);
}

}  // namespace tenon::converter::tflite
