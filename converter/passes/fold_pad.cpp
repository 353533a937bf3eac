#include <limits>
#include <optional>

#include "converter/ir/elements.hpp"
#include "converter/ir/rewrite.hpp"
#include "converter/passes/passes.hpp"
#include "runtime/ops/host/op_host_row.hpp"

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

// The attributes of quantized ops begin with those of float ones.
void AddPads(const PadAttributes& pad, Op& op) {
  const size_t offset = TraitsOf(op.kind).convolution ? offsetof(ConvAttributes, pads)
                                                      : offsetof(PoolAttributes, pads);
  std::vector<int32_t> words = op.attributes.words();
  int32_t* pads = words.data() + offset / sizeof(int32_t);
  pads[0] += pad.begins[2];
  pads[1] += pad.begins[3];
  pads[2] += pad.ends[2];
  pads[3] += pad.ends[3];
  op.attributes = Attributes(std::move(words));
}

/// Makes an average count its padding.
void CountPads(Op& op) {
  std::vector<int32_t> words = op.attributes.words();
  words[offsetof(PoolAttributes, count_include_pad) / 4] = 1;
  op.attributes = Attributes(std::move(words));
}

std::string NotZero(const Op& op) {
  return TraitsOf(op.kind).quantized ? "the pad value is not the zero point"
                                     : "the pad value is not 0";
}

/// Returns the value that a convolution or average treats as 0: for quantized elements the zero
/// point, if there is one.
std::optional<float> ZeroOf(const Graph& graph, const Op& op) {
  if (op.kind == OpKind::kQuantizedAveragePool) {
    return static_cast<float>(op.attributes.As<QuantizedAveragePoolAttributes>().x_zero_point);
  }
  if (op.kind != OpKind::kQuantizedConv || op.inputs.size() <= QuantizedGemmInput::kXZeroPoint ||
      op.inputs[QuantizedGemmInput::kXZeroPoint] == kNone) {
    return 0.0F;
  }
  const Tensor& zero_point = graph.tensor(op.inputs[QuantizedGemmInput::kXZeroPoint]);
  if (!zero_point.IsConstant() || zero_point.shape.Elements() != 1) return std::nullopt;
  return static_cast<float>(ReadInteger(zero_point.dtype, zero_point.constant->data()));
}

/// Returns the value that never affects a maximum.
float LeastValueOf(DType dtype) {
  if (dtype == DType::kI8) return -128.0F;
  if (dtype == DType::kU8) return 0.0F;
  return -std::numeric_limits<float>::infinity();
}

std::string WhyNotFoldInPool(const Graph& graph, const PadAttributes& pad, const Op& op) {
  if (op.kind == OpKind::kMaxPool) {
    const DType dtype = graph.tensor(op.outputs.front()).dtype;
    if (pad.value == LeastValueOf(dtype)) return "";
    // A pool of values known to be >= 0 could take zeros, but nothing here proves that they are.
    if (pad.value == 0.0F) return "zeros count in a maximum";
    return "the pad value counts";
  }
  if (pad.value != ZeroOf(graph, op)) return NotZero(op);
  const auto pool = op.attributes.As<PoolAttributes>();
  const bool own_padding =
      std::any_of(pool.pads, pool.pads + 4, [](int32_t amount) { return amount != 0; });
  if (own_padding && pool.count_include_pad == 0) {
    return "zeros count in the mean, the pool's own padding does not";
  }
  return "";
}

// Changes the attributes of a reader so that it pads by itself. Returns why not, or empty.
std::string FoldInto(const Graph& graph, const PadAttributes& pad, Op& op) {
  if (TraitsOf(op.kind).convolution) {
    if (pad.value != ZeroOf(graph, op)) return NotZero(op);
    AddPads(pad, op);
    return "";
  }
  if (!TraitsOf(op.kind).pool) return "a reader has no windows";
  if (std::string reason = WhyNotFoldInPool(graph, pad, op); !reason.empty()) return reason;
  AddPads(pad, op);
  if (op.kind != OpKind::kMaxPool) CountPads(op);
  return "";
}

// Lets one reader read `unpadded`; puts everything back if the op's rule refuses.
std::string TryReader(Graph& graph, OpId reader, const PadAttributes& pad, TensorId padded,
                      TensorId unpadded) {
  const Op before = graph.op(reader);
  if (std::count(before.inputs.begin(), before.inputs.end(), padded) != 1 ||
      before.inputs.front() != padded) {
    return "a reader takes it as something else than its input";
  }
  std::string reason = FoldInto(graph, pad, graph.MutableOp(reader));
  if (!reason.empty()) return reason;
  graph.SetInput(reader, 0, unpadded);
  if (IsValidOp(graph, reader)) return "";
  graph.MutableOp(reader) = before;
  return "its reader cannot pad that much";
}

std::string TryFold(Graph& graph, OpId id) {
  const Op pad_op = graph.op(id);
  const auto pad = pad_op.attributes.As<PadAttributes>();
  const TensorId padded = pad_op.outputs.front();
  const TensorId unpadded = pad_op.inputs.front();
  if (std::string reason = WhyNotFoldable(pad); !reason.empty()) return reason;
  if (graph.IsOutput(padded)) return "the padded tensor is a graph output";
  if (graph.tensor(padded).layout != graph.tensor(unpadded).layout) {
    return "it changes the layout";
  }
  std::vector<std::pair<OpId, Op>> changed;
  for (OpId reader : graph.Consumers(padded)) {
    const Op before = graph.op(reader);
    std::string reason = TryReader(graph, reader, pad, padded, unpadded);
    if (!reason.empty()) {
      for (auto& [other, op] : changed) graph.MutableOp(other) = op;
      return reason;
    }
    changed.emplace_back(reader, before);
  }
  for (const auto& [reader, before] : changed) RecordFusion(graph, reader, id);
  return "";
}

}  // namespace

Status FoldPad(Graph& graph, PassContext& context) {
  for (OpId id : graph.OpOrder()) {
    if (!graph.IsOp(id) || graph.op(id).kind != OpKind::kPad) continue;
    if (!graph.IsRead(graph.op(id).outputs.front())) continue;
    const std::string reason = TryFold(graph, id);
    if (!reason.empty()) {
      Decline(graph, id, reason, context.report);
      continue;
    }
    EraseIfUnread(graph, id);
    ++context.report.changed;
  }
  return Status();
}

}  // namespace tenon::converter
