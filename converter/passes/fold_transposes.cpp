#include "converter/ir/rewrite.hpp"
#include "converter/passes/passes.hpp"

namespace tenon::converter {
namespace {

/// True if the transpose exchanges the last two dimensions and leaves the others where they are.
bool ExchangesLastTwo(const Op& transpose) {
  const auto attributes = transpose.attributes.As<TransposeAttributes>();
  const int32_t rank = attributes.rank;
  if (rank < 2) return false;
  for (int32_t i = 0; i < rank - 2; ++i) {
    if (attributes.permutation[i] != i) return false;
  }
  return attributes.permutation[rank - 2] == rank - 1 &&
         attributes.permutation[rank - 1] == rank - 2;
}

}  // namespace

Status FoldTransposes(Graph& graph, PassContext& context) {
  for (const OpId id : graph.OpOrder()) {
    if (graph.op(id).kind != OpKind::kMatMul) continue;
    const TensorId factor = graph.op(id).inputs[MatMulInput::kWeights];
    const OpId transpose = ProducerOfKind(graph, factor, OpKind::kTranspose);
    if (transpose == kNone || !ExchangesLastTwo(graph.op(transpose))) continue;
    auto attributes = graph.op(id).attributes.As<MatMulAttributes>();
    attributes.transpose_b = 1 - attributes.transpose_b;
    graph.MutableOp(id).attributes = Attributes(attributes);
    graph.SetInput(id, MatMulInput::kWeights, graph.op(transpose).inputs[0]);
    RecordFusion(graph, id, transpose);
    EraseIfUnread(graph, transpose);
    ++context.report.changed;
  }
  return {};
}

}  // namespace tenon::converter
