#include "converter/passes/fold_input_format.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "converter/passes/rewrite.hpp"

namespace tenon::converter {
namespace {

constexpr size_t kWeights = 1;
constexpr size_t kMean = 5;
constexpr size_t kZeroPoint = 5;  // of a quantized convolution's input

using WhyNot = std::function<std::string(const Graph& graph, const Op& before, const Op& after)>;
using ByteTable = std::array<uint8_t, 256>;  // bits of i8 or u8

Shape VectorOf(size_t size) {
  Shape shape;
  shape.rank = 1;
  shape[0] = static_cast<int32_t>(size);
  return shape;
}

/// Weights that take the gain of the input channel that they meet.
std::vector<float> Scaled(const Tensor& weights, int32_t group, const std::vector<double>& gain) {
  std::vector<float> scaled(weights.constant->size() / sizeof(float));
  std::memcpy(scaled.data(), weights.constant->data(), weights.constant->size());
  const Shape& shape = weights.shape;
  const auto inputs = static_cast<size_t>(shape[1]);
  const auto outputs_of_group = static_cast<size_t>(shape[0] / group);
  const auto taps = static_cast<size_t>(shape[2]) * static_cast<size_t>(shape[3]);
  for (size_t i = 0; i < scaled.size(); ++i) {
    const size_t output = i / taps / inputs;
    const size_t channel = output / outputs_of_group * inputs + i / taps % inputs;
    scaled[i] = static_cast<float>(static_cast<double>(scaled[i]) * gain[channel]);
  }
  return scaled;
}

/// Quantized values of each channel's bytes, as `quantize` makes them; none if its parameters are
/// not constant or not one for all channels.
std::optional<std::vector<ByteTable>> Quantized(const Graph& graph, const Op& quantize,
                                                const ByteValues& made, int32_t* zero_point) {
  const auto attributes = quantize.attributes.As<QuantizeAttributes>();
  const auto to = static_cast<DType>(attributes.to);
  if (to != DType::kI8 && to != DType::kU8) return std::nullopt;
  const Tensor& scale = graph.tensor(quantize.inputs[1]);
  if (!scale.IsConstant() || scale.shape.Elements() != 1) return std::nullopt;
  float step = 0;
  std::memcpy(&step, scale.constant->data(), sizeof step);
  *zero_point = 0;
  if (quantize.inputs.size() > 2 && quantize.inputs[2] != kNone) {
    const Tensor& zero = graph.tensor(quantize.inputs[2]);
    if (!zero.IsConstant()) return std::nullopt;
    const auto bits = static_cast<uint8_t>(zero.constant->front());
    *zero_point = to == DType::kI8 ? static_cast<int8_t>(bits) : bits;
  }
  const float least = to == DType::kI8 ? -128.0F : 0.0F;
  std::vector<ByteTable> tables;
  for (const auto& values : made.values) {
    ByteTable table;
    for (size_t byte = 0; byte < table.size(); ++byte) {
      const float steps = values[byte] / step;
      if (std::isnan(steps)) return std::nullopt;
      const float whole =
          attributes.rounding == Rounding::kHalfAway ? std::round(steps) : std::nearbyint(steps);
      const float moved = whole + static_cast<float>(*zero_point);
      const float bounded = std::clamp(moved, least, least + 255);
      table[byte] = static_cast<uint8_t>(static_cast<int32_t>(bounded));
    }
    tables.push_back(table);
  }
  return tables;
}

/// The zero point of each channel's bytes by which they are the quantized values themselves; none
/// if some byte is not, or a zero point is no byte.
std::optional<std::vector<uint8_t>> ZeroPoints(const std::vector<ByteTable>& tables, DType dtype,
                                               int32_t zero_point) {
  std::vector<uint8_t> zero_points;
  for (const ByteTable& table : tables) {
    const auto value = [&](size_t byte) {
      return dtype == DType::kI8 ? static_cast<int32_t>(static_cast<int8_t>(table[byte]))
                                 : static_cast<int32_t>(table[byte]);
    };
    const int32_t moved = zero_point - value(0);
    if (moved < 0 || moved > 255) return std::nullopt;
    for (size_t byte = 0; byte < table.size(); ++byte) {
      if (value(byte) - zero_point != static_cast<int32_t>(byte) - moved) return std::nullopt;
    }
    zero_points.push_back(static_cast<uint8_t>(moved));
  }
  const bool all_one = std::all_of(zero_points.begin(), zero_points.end(),
                                   [&](uint8_t other) { return other == zero_points.front(); });
  if (all_one) zero_points.resize(1);
  return zero_points;
}

class Folder {
 public:
  Folder(Graph& graph, const WhyNot& why_not, PassReport& report)
      : graph_(graph), why_not_(why_not), report_(report) {}

  Status Run() {
    for (const OpId id : graph_.OpOrder()) {
      if (!graph_.IsOp(id)) continue;
      const Op& op = std::as_const(graph_).op(id);
      if (op.kind != OpKind::kConv && op.kind != OpKind::kQuantize) continue;
      const auto made = FindByteValues(graph_, op.inputs[0]);
      if (!made) continue;
      std::string reason;
      if (op.kind == OpKind::kConv) {
        reason = FoldIntoConv(id, *made);
      } else {
        TENON_ASSIGN_OR_RETURN(reason, FoldIntoQuantized(id, *made));
      }
      if (reason.empty()) {
        ++report_.changed;
      } else {
        Decline(graph_, id, reason, report_);
      }
    }
    return {};
  }

 private:
  /// Each gives why nothing changed, or nothing.
  std::string FoldIntoConv(OpId id, const ByteValues& made) {
    const Op before = std::as_const(graph_).op(id);
    const Tensor& weights = std::as_const(graph_).tensor(before.inputs[kWeights]);
    if (!weights.IsConstant() || weights.dtype != DType::kF32) return "its weights are no f32";
    std::vector<float> means;
    for (size_t c = 0; c < made.gain.size(); ++c) {
      if (made.gain[c] == 0 || !std::isfinite(made.gain[c]) || !std::isfinite(made.shift[c])) {
        return "a channel has no scale";
      }
      means.push_back(static_cast<float>(-made.shift[c] / made.gain[c]));
    }
    const std::string name = weights.name;
    const Shape shape = weights.shape;
    const std::vector<float> scaled =
        Scaled(weights, before.attributes.As<ConvAttributes>().group, made.gain);
    Op after = before;
    after.inputs.resize(kMean + 1, kNone);
    after.inputs[0] = made.bytes;
    after.inputs[kWeights] = graph_.AddConstantOf(name + ".of_bytes", DType::kF32, shape, scaled);
    after.inputs[kMean] =
        graph_.AddConstantOf(name + ".mean", DType::kF32, VectorOf(means.size()), means);
    return Replace(id, before, after, {after.inputs[kWeights], after.inputs[kMean]});
  }

  Result<std::string> FoldIntoQuantized(OpId id, const ByteValues& made) {
    const Op quantize = std::as_const(graph_).op(id);
    int32_t zero_point = 0;
    const auto tables = Quantized(graph_, quantize, made, &zero_point);
    if (!tables) return std::string("it has no one constant scale");
    const DType dtype = std::as_const(graph_).tensor(quantize.outputs[0]).dtype;
    const auto zero_points = ZeroPoints(*tables, dtype, zero_point);
    std::string reason = "a byte is not the quantized value";
    if (zero_points) {
      reason = GiveBytesTo(id, made.bytes, *zero_points);
      if (reason.empty()) return reason;
    }
    const bool one_table = std::all_of(tables->begin(), tables->end(),
                                       [&](const auto& table) { return table == tables->front(); });
    if (!one_table) return reason + ", and channels differ";
    if (Status status = LookUp(id, made.bytes, dtype, tables->front()); !status.ok()) {
      return status.error();
    }
    Decline(graph_, id, reason + ": a lookup over the bytes", report_);
    return std::string();
  }

  /// All readers take the bytes with their zero point, or none.
  std::string GiveBytesTo(OpId quantize, TensorId bytes, const std::vector<uint8_t>& zero_points) {
    const TensorId quantized = std::as_const(graph_).op(quantize).outputs[0];
    if (graph_.IsOutput(quantized)) return "a graph output reads it";
    const TensorId constant =
        graph_.AddConstantOf(std::as_const(graph_).tensor(bytes).name + ".zero_point", DType::kU8,
                             VectorOf(zero_points.size()), zero_points);
    std::vector<std::pair<OpId, Op>> changed;
    std::string reason;
    for (const OpId reader : graph_.Consumers(quantized)) {
      const Op& before = std::as_const(graph_).op(reader);
      Op after = before;
      after.inputs[0] = bytes;
      if (before.kind != OpKind::kQuantizedConv || before.inputs[0] != quantized) {
        reason = fmt::format("'{}', which reads it, is no convolution", before.name);
        break;
      }
      if (after.inputs.size() <= kZeroPoint) after.inputs.resize(kZeroPoint + 1, kNone);
      after.inputs[kZeroPoint] = constant;
      if (why_not_) reason = why_not_(graph_, before, after);
      if (!reason.empty()) break;
      changed.emplace_back(reader, std::move(after));
    }
    if (!reason.empty()) {
      graph_.EraseTensor(constant);
      return reason;
    }
    for (auto& [reader, op] : changed) {
      const std::vector<TensorId> before = std::as_const(graph_).op(reader).inputs;
      graph_.op(reader).inputs = op.inputs;
      DropUnread(before);
    }
    EraseIfUnread(graph_, quantize);
    return "";
  }

  Status LookUp(OpId quantize, TensorId bytes, DType dtype, const ByteTable& table) {
    const std::string name = std::as_const(graph_).op(quantize).name;
    const TensorId constant =
        graph_.AddConstantOf(name + ".table", dtype, VectorOf(table.size()),
                             std::vector<uint8_t>(table.begin(), table.end()));
    TENON_ASSIGN_OR_RETURN(const OpId lookup,
                           graph_.InsertOp(quantize, OpKind::kLookup, name, {bytes, constant},
                                           Attributes(), {name + ".looked_up"}));
    BypassAndErase(graph_, quantize, std::as_const(graph_).op(lookup).outputs[0]);
    return {};
  }

  /// Gives `id` the operands of `after` if its kernel is as good; else drops the new constants.
  std::string Replace(OpId id, const Op& before, const Op& after,
                      const std::vector<TensorId>& constants) {
    std::string reason = why_not_ ? why_not_(graph_, before, after) : std::string();
    if (!reason.empty()) {
      for (const TensorId constant : constants) graph_.EraseTensor(constant);
      return reason;
    }
    graph_.op(id).inputs = after.inputs;
    DropUnread(before.inputs);
    return "";
  }

  /// What an op read before, where nothing reads it any more.
  void DropUnread(const std::vector<TensorId>& inputs) {
    for (const TensorId input : inputs) {
      if (!graph_.IsTensor(input) || graph_.IsRead(input)) continue;
      const Tensor& tensor = std::as_const(graph_).tensor(input);
      if (tensor.producer != kNone) {
        EraseIfUnread(graph_, tensor.producer);
      } else if (tensor.IsConstant()) {
        graph_.EraseTensor(input);
      }
    }
  }

  Graph& graph_;
  const WhyNot& why_not_;
  PassReport& report_;
};

}  // namespace

Status FoldInputFormats(Graph& graph, const WhyNot& why_not, PassReport& report) {
  return Folder(graph, why_not, report).Run();
}

}  // namespace tenon::converter
