#include <algorithm>
#include <vector>

#include "converter/ir/elements.hpp"
#include "converter/ir/rewrite.hpp"
#include "converter/ir/shapes.hpp"
#include "converter/passes/channel_constants.hpp"
#include "converter/passes/image_moves.hpp"
#include "converter/passes/passes.hpp"

namespace tenon::converter {
namespace {

/// Its outputs may be computed in any order.
bool IsFree(const Graph& graph, const Op& conv) {
  if (!IsConstantF32(graph, conv.inputs[ConvInput::kWeights])) return false;
  const TensorId bias = conv.InputOrNone(ConvInput::kBias);
  if (bias != kNone && !IsConstantF32(graph, bias)) return false;
  return conv.InputOrNone(ConvInput::kResidual) == kNone &&
         conv.InputOrNone(ConvInput::kWeightsScale) == kNone;
}

/// The parts of x's channels in the order in which they lie in y's memory.
std::vector<int32_t> WantedOrder(const ImageMove& move) {
  std::vector<int32_t> wanted;
  for (const int32_t part : move.PartsOfOutput(kChannelsLastAxes)) {
    if (part >= move.x_runs[1] && part < move.x_runs[2]) wanted.push_back(part);
  }
  return wanted;
}

/// By new channel: the old one.
std::vector<int32_t> OldChannels(const ImageMove& move, const std::vector<int32_t>& wanted) {
  std::vector<int32_t> old = {0};
  for (const int32_t part : wanted) {
    int32_t stride = 1;
    for (int32_t k = part + 1; k < move.x_runs[2]; ++k) stride *= move.parts[k];
    std::vector<int32_t> longer;
    for (const int32_t channel : old) {
      for (int32_t i = 0; i < move.parts[part]; ++i) longer.push_back(channel + i * stride);
    }
    old = std::move(longer);
  }
  return old;
}

bool StaysInGroups(const std::vector<int32_t>& old, int32_t groups) {
  const int32_t each = static_cast<int32_t>(old.size()) / groups;
  for (size_t i = 0; i < old.size(); ++i) {
    if (old[i] / each != static_cast<int32_t>(i) / each) return false;
  }
  return true;
}

void Reorder(Graph& graph, OpId conv, size_t input, const std::vector<int32_t>& old) {
  const Tensor& constant = graph.tensor(graph.op(conv).inputs[input]);
  const std::vector<double> values = ReadElements(constant);
  const size_t each = values.size() / old.size();
  std::vector<double> reordered;
  reordered.reserve(values.size());
  for (const int32_t channel : old) {
    const auto begin = values.begin() + static_cast<ptrdiff_t>(each) * channel;
    reordered.insert(reordered.end(), begin, begin + static_cast<ptrdiff_t>(each));
  }
  ReplaceConstant(graph, conv, input, constant.name, constant.shape, reordered);
}

/// Cuts x into the parts as they lie now, and takes them from there.
Status CutReordered(Graph& graph, const ImageMove& move, const std::vector<int32_t>& wanted) {
  Shape parts = move.parts;
  std::vector<int32_t> place(static_cast<size_t>(parts.rank));
  for (int32_t i = 0; i < parts.rank; ++i) place[static_cast<size_t>(i)] = i;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const int32_t to = move.x_runs[1] + static_cast<int32_t>(i);
    parts[to] = move.parts[wanted[i]];
    place[static_cast<size_t>(wanted[i])] = to;
  }
  const std::string name = graph.op(move.first).name + ".ordered";
  TENON_ASSIGN_OR_RETURN(const OpId cut,
                         graph.InsertOp(move.first, OpKind::kReshape, name, {move.x},
                                        Attributes(ReshapeTo(parts)), {name}));
  auto transpose = graph.op(move.middle).attributes.As<TransposeAttributes>();
  for (int32_t i = 0; i < transpose.rank; ++i) {
    transpose.permutation[i] = place[static_cast<size_t>(transpose.permutation[i])];
  }
  graph.MutableOp(move.middle).attributes = Attributes(transpose);
  graph.SetInput(move.middle, 0, graph.op(cut).outputs[0]);
  EraseIfUnread(graph, move.first);
  return {};
}

Result<bool> TryOrder(Graph& graph, const ImageMove& move) {
  const OpId conv = ProducerOfKind(graph, move.x, OpKind::kConv);
  if (conv == kNone || graph.OnlyConsumer(move.x) != move.first) return false;
  if (graph.tensor(graph.op(move.last).outputs[0]).shape.rank != 4) return false;
  if (!IsFree(graph, graph.op(conv))) return false;
  const std::vector<int32_t> wanted = WantedOrder(move);
  if (wanted.size() != static_cast<size_t>(move.x_runs[2] - move.x_runs[1])) return false;
  const std::vector<int32_t> old = OldChannels(move, wanted);
  if (std::is_sorted(old.begin(), old.end())) return false;
  if (!StaysInGroups(old, graph.op(conv).attributes.As<ConvAttributes>().group)) return false;
  Reorder(graph, conv, ConvInput::kWeights, old);
  if (graph.op(conv).InputOrNone(ConvInput::kBias) != kNone) {
    Reorder(graph, conv, ConvInput::kBias, old);
  }
  TENON_RETURN_IF_ERROR(CutReordered(graph, move, wanted));
  return true;
}

}  // namespace

Status OrderChannels(Graph& graph, PassContext& context) {
  if (!context.has_fast_kernel) return {};
  for (const OpId id : graph.OpOrder()) {
    if (!graph.IsOp(id)) continue;
    const auto move = FindImageMove(graph, id);
    if (!move.has_value()) continue;
    const OpId conv = ProducerOfKind(graph, move->x, OpKind::kConv);
    if (conv == kNone || !context.has_fast_kernel(graph, graph.op(conv))) continue;
    TENON_ASSIGN_OR_RETURN(const bool ordered, TryOrder(graph, *move));
    context.report.changed += ordered ? 1 : 0;
  }
  return {};
}

}  // namespace tenon::converter
