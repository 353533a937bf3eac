#include "converter/passes/move_transposes.hpp"

#include <algorithm>
#include <vector>

#include "converter/ir/rewrite.hpp"
#include "converter/ir/shapes.hpp"

namespace tenon::converter {
namespace {

bool IsRowMajor(const Graph& graph, const Op& op) {
  return graph.tensor(op.inputs.front()).layout == Layout::kRowMajor &&
         graph.tensor(op.outputs.front()).layout == Layout::kRowMajor;
}

/// What a new op is to be.
struct MoveStep {
  std::string name;
  OpKind kind;
  Attributes attributes;
};

/// Puts two ops in the place of `before` and of `id`, which alone reads it.
bool ReplaceBoth(Graph& graph, OpId before, OpId id, const MoveStep& first,
                 const MoveStep& second) {
  const std::string between = graph.tensor(graph.op(before).outputs.front()).name + ".moved";
  const Result<OpId> inserted =
      graph.InsertOp(before, first.kind, first.name, {graph.op(before).inputs.front()},
                     first.attributes, {between});
  if (!inserted.ok()) return false;
  Op& op = graph.MutableOp(id);
  op.kind = second.kind;
  op.name = second.name;
  op.attributes = second.attributes;
  graph.SetInput(id, 0, graph.op(*inserted).outputs.front());
  EraseIfUnread(graph, before);
  return true;
}

/// The op before `id` if it is of this kind, has no other reader, and no layout has been chosen.
OpId OnlyBefore(const Graph& graph, OpId id, OpKind kind) {
  const Op& op = graph.op(id);
  const OpId before = ProducerOfKind(graph, op.inputs.front(), kind);
  if (before == kNone || graph.OnlyConsumer(op.inputs.front()) != id) return kNone;
  return IsRowMajor(graph, op) && IsRowMajor(graph, graph.op(before)) ? before : kNone;
}

/// The transpose of the parts that moves joined dimensions as `transpose` does. `begins` are of the
/// dimensions before it.
TransposeAttributes OfParts(const TransposeAttributes& transpose,
                            const std::vector<int32_t>& begins) {
  TransposeAttributes result;
  for (int32_t i = 0; i < transpose.rank; ++i) {
    const auto run = static_cast<size_t>(transpose.permutation[i]);
    for (int32_t k = begins[run]; k < begins[run + 1]; ++k) result.permutation[result.rank++] = k;
  }
  return result;
}

TransposeAttributes Inverse(const TransposeAttributes& transpose) {
  TransposeAttributes result;
  result.rank = transpose.rank;
  for (int32_t i = 0; i < transpose.rank; ++i) result.permutation[transpose.permutation[i]] = i;
  return result;
}

/// Joins dimensions after they have been moved.
bool TryJoinLater(Graph& graph, OpId id) {
  const OpId before = OnlyBefore(graph, id, OpKind::kReshape);
  if (before == kNone) return false;
  const Op& join = graph.op(before);
  const Op& transpose = graph.op(id);
  const Shape& parts = graph.tensor(join.inputs.front()).shape;
  const Shape& joined = graph.tensor(join.outputs.front()).shape;
  const std::vector<int32_t> begins = RunsOf(joined, parts);
  if (begins.empty()) return false;
  const TransposeAttributes moved = OfParts(transpose.attributes.As<TransposeAttributes>(), begins);
  return ReplaceBoth(graph, before, id, {transpose.name, OpKind::kTranspose, Attributes(moved)},
                     {join.name, OpKind::kReshape,
                      Attributes(ReshapeTo(graph.tensor(transpose.outputs.front()).shape))});
}

/// Cuts dimensions before they are moved.
bool TryCutEarlier(Graph& graph, OpId id) {
  const OpId before = OnlyBefore(graph, id, OpKind::kTranspose);
  if (before == kNone) return false;
  const Op& transpose = graph.op(before);
  const Op& cut = graph.op(id);
  const Shape& joined = graph.tensor(transpose.outputs.front()).shape;
  const Shape& parts = graph.tensor(cut.outputs.front()).shape;
  const std::vector<int32_t> begins = RunsOf(joined, parts);
  if (begins.empty()) return false;
  // From the parts as they lie afterwards back to how they lie before.
  const TransposeAttributes back =
      OfParts(Inverse(transpose.attributes.As<TransposeAttributes>()), begins);
  Shape unmoved = parts;
  for (int32_t i = 0; i < parts.rank; ++i) unmoved[i] = parts[back.permutation[i]];
  return ReplaceBoth(graph, before, id,
                     {cut.name, OpKind::kReshape, Attributes(ReshapeTo(unmoved))},
                     {transpose.name, OpKind::kTranspose, Attributes(Inverse(back))});
}

}  // namespace

std::vector<int32_t> RunsOf(const Shape& joined, const Shape& parts) {
  if (joined.rank >= parts.rank) return {};
  std::vector<int32_t> begins;
  int32_t at = 0;
  for (int32_t i = 0; i < joined.rank; ++i) {
    begins.push_back(at);
    int64_t product = 1;
    while (at < parts.rank && (at == begins.back() || product < joined[i])) product *= parts[at++];
    if (product != joined[i]) return {};
    // Ones belong to what is before them, unless the dimensions that follow need them.
    while (at < parts.rank && parts[at] == 1 && parts.rank - at > joined.rank - 1 - i) ++at;
  }
  begins.push_back(at);
  return at == parts.rank ? begins : std::vector<int32_t>();
}

bool TryTransposeBeforePad(Graph& graph, OpId id) {
  if (graph.op(id).kind != OpKind::kTranspose) return false;
  const OpId before = OnlyBefore(graph, id, OpKind::kPad);
  if (before == kNone) return false;
  const Op& transpose = graph.op(id);
  const auto moves = transpose.attributes.As<TransposeAttributes>();
  const auto pad = graph.op(before).attributes.As<PadAttributes>();
  PadAttributes moved = pad;
  for (int32_t i = 0; i < moves.rank; ++i) {
    moved.begins[i] = pad.begins[moves.permutation[i]];
    moved.ends[i] = pad.ends[moves.permutation[i]];
  }
  return ReplaceBoth(graph, before, id, {transpose.name, OpKind::kTranspose, transpose.attributes},
                     {graph.op(before).name, OpKind::kPad, Attributes(moved)});
}

bool TryTransposeBeforeExpand(Graph& graph, OpId id) {
  if (graph.op(id).kind != OpKind::kTranspose) return false;
  const OpId before = OnlyBefore(graph, id, OpKind::kExpand);
  if (before == kNone) return false;
  const Op& transpose = graph.op(id);
  const auto moves = transpose.attributes.As<TransposeAttributes>();
  const Shape& y = graph.tensor(transpose.outputs.front()).shape;
  if (graph.tensor(graph.op(before).inputs.front()).shape.rank != moves.rank) return false;
  ExpandAttributes moved;
  moved.rank = y.rank;
  std::copy_n(y.dims, y.rank, moved.dims);
  return ReplaceBoth(graph, before, id, {transpose.name, OpKind::kTranspose, transpose.attributes},
                     {graph.op(before).name, OpKind::kExpand, Attributes(moved)});
}

bool TryReshapeAfterUnary(Graph& graph, OpId id) {
  if (graph.op(id).kind != OpKind::kUnary) return false;
  const OpId before = OnlyBefore(graph, id, OpKind::kReshape);
  if (before == kNone) return false;
  const Op& unary = graph.op(id);
  const Op& reshape = graph.op(before);
  const TensorId x = reshape.inputs.front();
  const bool goes_itself = graph.tensor(x).shape == graph.tensor(unary.inputs.front()).shape ||
                           ProducerOfKind(graph, x, OpKind::kReshape) != kNone;
  if (goes_itself) return false;
  return ReplaceBoth(graph, before, id, {unary.name, OpKind::kUnary, unary.attributes},
                     {reshape.name, OpKind::kReshape, reshape.attributes});
}

bool TryTransposeSmallerDimensions(Graph& graph, OpId id) {
  const Op& op = graph.op(id);
  if (graph.tensor(op.outputs.front()).shape.Elements() == 0) return false;
  if (op.kind == OpKind::kTranspose) return TryJoinLater(graph, id);
  return op.kind == OpKind::kReshape && TryCutEarlier(graph, id);
}

}  // namespace tenon::converter
