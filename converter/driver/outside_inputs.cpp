#include "converter/driver/outside_inputs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

#include "converter/passes/image_layouts.hpp"

namespace tenon::converter {
namespace {

Result<Graph::Port> FindInput(const Graph& graph, const std::string& name) {
  if (const Graph::Port* port = graph.FindPort(/*output=*/false, name)) return *port;
  std::vector<std::string> known;
  for (const Graph::Port& input : graph.inputs()) known.push_back(input.name);
  return UsageError("--input-from: the model has no input '{}' (it has {})", name,
                    fmt::join(known, ", "));
}

/// Returns true if an image's rows lie one after another in a dense tensor of this shape, whose
/// axes are those of the image (batch, channels, rows, columns) in the order of `axes`.
bool HasRowsInOrder(const Shape& shape, const int32_t (&axes)[4]) {
  if (shape.rank != 4) return false;
  for (int32_t i = 0; i < 4 && axes[i] != kRowAxis; ++i) {
    if (shape[i] != 1) return false;
  }
  return true;
}

bool TurnsChannelsFirst(const Op& op) {
  if (op.kind != OpKind::kTranspose) return false;
  const auto turned = op.attributes.As<TransposeAttributes>();
  return turned.rank == 4 && std::equal(kToChannelsFirst, kToChannelsFirst + 4, turned.permutation);
}

/// Returns true of an op that makes each element of one of its first input, all in the same way.
bool IsAlikeForAll(const Graph& graph, const Op& op) {
  if (op.kind != OpKind::kQuantize && op.kind != OpKind::kDequantize && op.kind != OpKind::kCast) {
    return false;
  }
  return std::all_of(op.inputs.begin() + 1, op.inputs.end(), [&](TensorId id) {
    return id == kNone || graph.tensor(id).shape.Elements() == 1;
  });
}

/// Where an image is quantized before it is turned, turns it first: rows are copied before anything
/// else is done with them.
Status TurnFirst(Graph& graph, TensorId input) {
  const OpId reader = graph.OnlyConsumer(input);
  if (reader == kNone || !IsAlikeForAll(graph, graph.op(reader))) return {};
  const Op op = graph.op(reader);
  const OpId last = graph.OnlyConsumer(op.outputs[0]);
  if (last == kNone || !TurnsChannelsFirst(graph.op(last))) return {};
  const Op turn = graph.op(last);
  const std::string first = graph.tensor(input).name + ".turned_first";
  TENON_ASSIGN_OR_RETURN(const OpId turned, graph.InsertOp(reader, turn.kind, first, {input},
                                                           turn.attributes, {first}));
  std::vector<TensorId> inputs = op.inputs;
  inputs[0] = graph.op(turned).outputs[0];
  const std::string made = op.name + ".of_turned";
  TENON_ASSIGN_OR_RETURN(const OpId again,
                         graph.InsertOp(reader, op.kind, made, inputs, op.attributes, {made}));
  graph.ReplaceUses(turn.outputs[0], graph.op(again).outputs[0]);
  graph.EraseOp(last);
  graph.EraseOp(reader);
  return Verify(graph);
}

/// Returns the tensor through which all readers see an input as an image with its channels first:
/// itself, or what a transpose or a reshape makes of it. kNone: there is none, or its rows are not
/// in order.
TensorId FindImage(const Graph& graph, TensorId input) {
  constexpr int32_t kChannelsFirst[4] = {0, 1, 2, 3};
  constexpr int32_t kChannelsLast[4] = {0, 2, 3, 1};
  const Shape& shape = graph.tensor(input).shape;
  const OpId reader = graph.OnlyConsumer(input);
  if (reader != kNone && TurnsChannelsFirst(graph.op(reader))) {
    return HasRowsInOrder(shape, kChannelsLast) ? graph.op(reader).outputs[0] : kNone;
  }
  // A reshape keeps the order of elements.
  const bool is_reshaped = reader != kNone && graph.op(reader).kind == OpKind::kReshape;
  const TensorId image = is_reshaped ? graph.op(reader).outputs[0] : input;
  return HasRowsInOrder(graph.tensor(image).shape, kChannelsFirst) ? image : kNone;
}

/// Lets all readers of the image read a copy of it. Returns the op that copies.
Result<OpId> InsertCopy(Graph& graph, const std::string& name, TensorId image) {
  const std::vector<OpId> readers = graph.Consumers(image);
  if (readers.empty()) return UsageError("--input-from {}: nothing reads it", name);
  TENON_ASSIGN_OR_RETURN(const OpId copy,
                         graph.InsertOp(readers.front(), OpKind::kCopy, name + ".rows", {image},
                                        Attributes(), {name + ".rows"}));
  for (const OpId reader : readers) {
    for (size_t i = 0; i < graph.op(reader).inputs.size(); ++i) {
      if (graph.op(reader).inputs[i] == image) graph.SetInput(reader, i, graph.op(copy).outputs[0]);
    }
  }
  return copy;
}

Result<OutsideInput> TakeOutside(Graph& graph, const InputFrom& from, TensorId tensor) {
  OutsideInput outside{tensor, from.rows, kNone};
  if (from.rows == 0) return outside;
  TENON_RETURN_IF_ERROR(TurnFirst(graph, tensor));
  const TensorId image = FindImage(graph, tensor);
  if (image == kNone) {
    const Shape& shape = graph.tensor(tensor).shape;
    if (shape.rank == 4 && shape[0] > 1) {
      return UsageError(
          "--input-from {}=rows: it is {} images: the rows of one can be handed in (--batch 1)",
          from.input, shape[0]);
    }
    return UsageError(
        "--input-from {}=rows: its rows do not lie one after another: --input-format {}=...,nhwc "
        "puts the channels of an image last",
        from.input, from.input);
  }
  TENON_ASSIGN_OR_RETURN(outside.copy, InsertCopy(graph, from.input, image));
  return outside;
}

}  // namespace

Result<InputFrom> ParseInputFrom(std::string_view name, std::string_view text) {
  constexpr std::string_view kRows = "rows:";
  InputFrom from{std::string(name), 0};
  if (text == "memory") return from;
  if (text.starts_with(kRows)) {
    const std::string_view number = text.substr(kRows.size());
    const char* const end = number.data() + number.size();
    const auto [rest, error] = std::from_chars(number.data(), end, from.rows);
    if (error == std::errc() && rest == end && from.rows > 0) return from;
  }
  return UsageError("--input-from {}={}: an input comes from 'memory', or by 'rows:N'", name, text);
}

Result<OutsideInputs> TakeInputsOutside(Graph& graph, const std::vector<InputFrom>& inputs) {
  OutsideInputs found;
  for (const InputFrom& from : inputs) {
    TENON_ASSIGN_OR_RETURN(const Graph::Port port, FindInput(graph, from.input));
    for (const Graph::State& state : graph.states) {
      if (state.input != from.input) continue;
      return UsageError("--input-from {}: it is state, which the plan keeps in its arenas",
                        from.input);
    }
    if (IsOutside(found, port.tensor)) {
      return UsageError("--input-from {} is given twice", from.input);
    }
    TENON_ASSIGN_OR_RETURN(const OutsideInput outside, TakeOutside(graph, from, port.tensor));
    found.push_back(outside);
  }
  return found;
}

}  // namespace tenon::converter
