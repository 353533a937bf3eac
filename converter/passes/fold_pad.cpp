#include "converter/passes/fold_pad.hpp"

#include <limits>

#include "converter/passes/rewrite.hpp"

namespace tenon::converter {
namespace {

// Why no windowed op could take this pad, or empty.
std::string WhyNotFoldable(const PadAttributes& pad) {
  if (pad.mode != PadMode::kConstant) return "only constant pads fold into windows";
  if (pad.rank != 4) return "only tensors of rank 4 have windows";
  for (int32_t axis = 0; axis < 4; ++axis) {
    if (pad.begins[axis] < 0 || pad.ends[axis] < 0) return "it removes elements";
    if (axis < 2 && (pad.begins[axis] != 0 || pad.ends[axis] != 0)) {
      return "it pads batch or channels";
    }
  }
  return "";
}

template <typename Windowed>
void AddPads(const PadAttributes& pad, Windowed& attributes) {
  attributes.pads[0] += pad.begins[2];
  attributes.pads[1] += pad.begins[3];
  attributes.pads[2] += pad.ends[2];
  attributes.pads[3] += pad.ends[3];
}

std::string WhyNotFoldInPool(const PadAttributes& pad, const Op& op) {
  if (op.kind == OpKind::kMaxPool) {
    // A pool of values known to be >= 0 could take zeros, but nothing here proves that they are.
    if (pad.value == 0.0F) return "zeros count in a maximum";
    if (pad.value != -std::numeric_limits<float>::infinity()) return "the pad value counts";
    return "";
  }
  if (pad.value != 0.0F) return "the pad value is not 0";
  const auto pool = op.attributes.As<PoolAttributes>();
  const bool own_padding =
      std::any_of(pool.pads, pool.pads + 4, [](int32_t amount) { return amount != 0; });
  if (own_padding && pool.count_include_pad == 0) {
    return "zeros count in the mean, the pool's own padding does not";
  }
  return "";
}

// Changes the attributes of a reader so that it pads by itself. Returns why not, or empty.
std::string FoldInto(const PadAttributes& pad, Op& op) {
  if (op.kind == OpKind::kConv) {
    if (pad.value != 0.0F) return "the pad value is not 0";
    auto conv = op.attributes.As<ConvAttributes>();
    AddPads(pad, conv);
    op.attributes = Attributes(conv);
    return "";
  }
  if (op.kind != OpKind::kAveragePool && op.kind != OpKind::kMaxPool) {
    return "a reader has no windows";
  }
  if (std::string reason = WhyNotFoldInPool(pad, op); !reason.empty()) return reason;
  auto pool = op.attributes.As<PoolAttributes>();
  AddPads(pad, pool);
  if (op.kind == OpKind::kAveragePool) pool.count_include_pad = 1;
  op.attributes = Attributes(pool);
  return "";
}

// Lets one reader read `unpadded`; puts everything back if the op's rule refuses.
std::string TryReader(Graph& graph, OpId reader, const PadAttributes& pad, TensorId padded,
                      TensorId unpadded) {
  const Op before = std::as_const(graph).op(reader);
  if (std::count(before.inputs.begin(), before.inputs.end(), padded) != 1 ||
      before.inputs.front() != padded) {
    return "a reader takes it as something else than its input";
  }
  std::string reason = FoldInto(pad, graph.op(reader));
  if (!reason.empty()) return reason;
  graph.SetInput(reader, 0, unpadded);
  if (IsValidOp(graph, reader)) return "";
  graph.op(reader) = before;
  return "its reader cannot pad that much";
}

std::string TryFold(Graph& graph, OpId id) {
  const Op pad_op = std::as_const(graph).op(id);
  const auto pad = pad_op.attributes.As<PadAttributes>();
  const TensorId padded = pad_op.outputs.front();
  const TensorId unpadded = pad_op.inputs.front();
  if (std::string reason = WhyNotFoldable(pad); !reason.empty()) return reason;
  if (graph.IsOutput(padded)) return "the padded tensor is a graph output";
  if (std::as_const(graph).tensor(padded).layout != std::as_const(graph).tensor(unpadded).layout) {
    return "it changes the layout";
  }
  std::vector<std::pair<OpId, Op>> changed;
  for (OpId reader : graph.Consumers(padded)) {
    const Op before = std::as_const(graph).op(reader);
    std::string reason = TryReader(graph, reader, pad, padded, unpadded);
    if (!reason.empty()) {
      for (auto& [other, op] : changed) graph.op(other) = op;
      return reason;
    }
    changed.emplace_back(reader, before);
  }
  for (const auto& [reader, before] : changed) RecordFusion(graph, reader, id);
  return "";
}

}  // namespace

Status FoldPad(Graph& graph, PassReport& report) {
  for (OpId id : graph.OpOrder()) {
    if (!graph.IsOp(id) || std::as_const(graph).op(id).kind != OpKind::kPad) continue;
    if (!graph.IsRead(std::as_const(graph).op(id).outputs.front())) continue;
    const std::string reason = TryFold(graph, id);
    if (!reason.empty()) {
      Decline(graph, id, reason, report);
      continue;
    }
    EraseIfUnread(graph, id);
    ++report.changed;
  }
  return Status();
}

}  // namespace tenon::converter
