#include "converter/ir/rewrite.hpp"
#include "converter/ir/shapes.hpp"
#include "converter/passes/move_transposes.hpp"
#include "converter/passes/passes.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon::converter {
namespace {

bool IsIdentityTranspose(const TransposeAttributes& transpose) {
  for (int32_t i = 0; i < transpose.rank; ++i) {
    if (transpose.permutation[i] != i) return false;
  }
  return true;
}

// Steps do not matter where one element is taken.
bool TakesEverything(const SliceAttributes& slice, const Shape& x) {
  for (int32_t i = 0; i < x.rank; ++i) {
    const bool whole = slice.begins[i] == 0 && slice.sizes[i] == x[i];
    if (!whole || (slice.steps[i] != 1 && x[i] > 1)) return false;
  }
  return true;
}

bool PadsNothing(const PadAttributes& pad) {
  const auto zero = [](int32_t value) { return value == 0; };
  return std::all_of(pad.begins, pad.begins + pad.rank, zero) &&
         std::all_of(pad.ends, pad.ends + pad.rank, zero);
}

/// Every position shows the element of its own number, whatever is between them.
bool ResizesNothing(const ResizeAttributes& resize) {
  return std::all_of(resize.scales, resize.scales + resize.rank,
                     [](float scale) { return scale == 1.0F; });
}

bool IsIdentity(const Graph& graph, const Op& op) {
  const Tensor& x = graph.tensor(op.inputs.front());
  const Tensor& y = graph.tensor(op.outputs.front());
  switch (op.kind) {
    case OpKind::kUnary:
      return op.attributes.As<UnaryAttributes>().function == UnaryFunction::kIdentity;
    case OpKind::kCopy:
      return op.backend.empty();  // once mapped, a copy may change the memory space
    case OpKind::kCast:
      return x.dtype == y.dtype;
    case OpKind::kReshape:
    case OpKind::kExpand:
      return x.shape == y.shape;
    case OpKind::kTranspose:
      return IsIdentityTranspose(op.attributes.As<TransposeAttributes>());
    case OpKind::kSlice:
      return TakesEverything(op.attributes.As<SliceAttributes>(), x.shape);
    case OpKind::kPad:
      return PadsNothing(op.attributes.As<PadAttributes>());
    case OpKind::kConcat:
      return op.inputs.size() == 1;
    case OpKind::kResize:
      return x.shape == y.shape && ResizesNothing(op.attributes.As<ResizeAttributes>());
    default:
      return false;
  }
}

bool IsRowMajor(const Graph& graph, const Op& op) {
  return graph.tensor(op.inputs.front()).layout == Layout::kRowMajor &&
         graph.tensor(op.outputs.front()).layout == Layout::kRowMajor;
}

// A transpose that keeps the order of all dimensions but those of size 1 moves no element.
bool TryTransposeToReshape(Graph& graph, OpId id) {
  const Op& op = graph.op(id);
  if (op.kind != OpKind::kTranspose || !IsRowMajor(graph, op)) return false;
  const auto transpose = op.attributes.As<TransposeAttributes>();
  const Shape x = graph.tensor(op.inputs.front()).shape;
  int32_t last = -1;
  for (int32_t i = 0; i < transpose.rank; ++i) {
    const int32_t axis = transpose.permutation[i];
    if (x[axis] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  const Shape y = graph.tensor(op.outputs.front()).shape;
  Op& changed = graph.MutableOp(id);
  changed.kind = OpKind::kReshape;
  changed.attributes = Attributes(ReshapeTo(y));
  return true;
}

// Lets `id` read what `before` reads, with the attributes that do the work of both.
void Join(Graph& graph, OpId id, OpId before, const Attributes& attributes) {
  RecordFusion(graph, id, before);
  graph.MutableOp(id).attributes = attributes;
  graph.SetInput(id, 0, graph.op(before).inputs.front());
  EraseIfUnread(graph, before);
}

Attributes Composed(const TransposeAttributes& first, TransposeAttributes second) {
  for (int32_t i = 0; i < second.rank; ++i) {
    second.permutation[i] = first.permutation[second.permutation[i]];
  }
  return Attributes(second);
}

// Why two pads are not one, or empty.
std::string WhyNotJoin(const PadAttributes& first, const PadAttributes& second) {
  if (first.mode != PadMode::kConstant || second.mode != PadMode::kConstant) {
    return "only constant pads are joined";
  }
  if (first.value != second.value) return "the pads have different values";
  const auto removes = [](int32_t amount) { return amount < 0; };
  for (const PadAttributes* pad : {&first, &second}) {
    if (std::any_of(pad->begins, pad->begins + pad->rank, removes) ||
        std::any_of(pad->ends, pad->ends + pad->rank, removes)) {
      return "a pad removes elements";
    }
  }
  return "";
}

bool TryJoinPads(Graph& graph, OpId id, OpId before, bool log, PassReport& report) {
  const auto first = graph.op(before).attributes.As<PadAttributes>();
  auto joined = graph.op(id).attributes.As<PadAttributes>();
  std::string reason = WhyNotJoin(first, joined);
  if (reason.empty() && graph.OnlyConsumer(graph.op(id).inputs.front()) != id) {
    reason = "the pad before it has other readers";
  }
  if (!reason.empty()) {
    if (log) Decline(graph, id, reason, report);
    return false;
  }
  for (int32_t i = 0; i < joined.rank; ++i) {
    joined.begins[i] += first.begins[i];
    joined.ends[i] += first.ends[i];
  }
  Join(graph, id, before, Attributes(joined));
  return true;
}

bool TryJoin(Graph& graph, OpId id, bool log, PassReport& report) {
  const Op& op = graph.op(id);
  if (op.kind != OpKind::kReshape && op.kind != OpKind::kTranspose && op.kind != OpKind::kPad) {
    return false;
  }
  const OpId before = ProducerOfKind(graph, op.inputs.front(), op.kind);
  if (before == kNone) return false;
  if (!IsRowMajor(graph, op) || !IsRowMajor(graph, graph.op(before))) {
    if (log) Decline(graph, id, "layouts have been chosen", report);
    return false;
  }
  if (op.kind == OpKind::kPad) return TryJoinPads(graph, id, before, log, report);
  if (op.kind == OpKind::kReshape) {
    Join(graph, id, before, Attributes(op.attributes));
  } else {
    Join(graph, id, before,
         Composed(graph.op(before).attributes.As<TransposeAttributes>(),
                  op.attributes.As<TransposeAttributes>()));
  }
  return true;
}

bool TryRemove(Graph& graph, OpId id, bool log, PassReport& report) {
  const Op& op = graph.op(id);
  if (op.inputs.empty() || op.inputs.front() == kNone || !IsIdentity(graph, op)) return false;
  const TensorId x = op.inputs.front();
  const std::string reason = WhyNotBypass(graph, op.outputs.front(), x);
  if (!reason.empty()) {
    if (log) Decline(graph, id, reason, report);
    return false;
  }
  BypassAndErase(graph, id, x);
  return true;
}

// Lets a binary op, which repeats operands itself, read what an expand repeats.
bool TryReadBeforeExpand(Graph& graph, OpId id) {
  const Op& op = graph.op(id);
  if (op.kind != OpKind::kBinary) return false;
  for (size_t i = 0; i < 2; ++i) {
    const OpId expand = ProducerOfKind(graph, op.inputs[i], OpKind::kExpand);
    if (expand == kNone || !IsRowMajor(graph, op) || !IsRowMajor(graph, graph.op(expand))) continue;
    const TensorId x = graph.op(expand).inputs.front();
    Shape shape;
    const Shape& other = graph.tensor(op.inputs[1 - i]).shape;
    if (!Broadcast(graph.tensor(x).shape, other, &shape)) continue;
    if (shape != graph.tensor(op.outputs.front()).shape) continue;
    RecordFusion(graph, id, expand);
    graph.SetInput(id, i, x);
    EraseIfUnread(graph, expand);
    return true;
  }
  return false;
}

// One walk over the ops; refusals are logged only where asked.
int Sweep(Graph& graph, bool log, PassReport& report) {
  int changed = 0;
  for (OpId id : graph.OpOrder()) {
    if (!graph.IsOp(id)) continue;
    if (TryRemove(graph, id, log, report)) {
      ++changed;
      continue;
    }
    if (TryTransposeToReshape(graph, id)) ++changed;
    if (TryTransposeBeforePad(graph, id)) ++changed;
    if (TryTransposeBeforeExpand(graph, id)) ++changed;
    if (TryTransposeSmallerDimensions(graph, id)) ++changed;
    if (TryReshapeAfterUnary(graph, id)) ++changed;
    if (TryReadBeforeExpand(graph, id)) ++changed;
    if (TryJoin(graph, id, log, report)) ++changed;
  }
  return changed;
}

}  // namespace

Status Simplify(Graph& graph, PassContext& context) {
  // Each change removes an op, shortens a chain, turns a transpose into a reshape, lets it move
  // more dimensions, takes it before a pad or an expand, a unary op before a reshape, or a reader
  // from an expand: this ends.
  while (const int changed = Sweep(graph, /*log=*/false, context.report))
    context.report.changed += changed;
  Sweep(graph, /*log=*/true, context.report);
  return Status();
}

}  // namespace tenon::converter
