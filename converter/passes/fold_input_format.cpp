#include "converter/passes/fold_input_format.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "converter/ir/rewrite.hpp"

namespace tenon::converter {
namespace {

Shape VectorOf(size_t size) {
  Shape shape;
  shape.rank = 1;
  shape[0] = static_cast<int32_t>(size);
  return shape;
}

/// Returns the zero point of each channel's bytes (one if all are equal) for which byte minus zero
/// point equals the quantized value minus `zero_point`; none if that fails for some byte, or a zero
/// point is no byte.
std::optional<std::vector<uint8_t>> ZeroPointBytes(const ByteValues& made, float zero_point) {
  std::vector<uint8_t> zero_points;
  for (const auto& values : made.values) {
    const float moved = zero_point - values.front();
    if (moved < 0 || moved > 255) return std::nullopt;
    for (size_t byte = 0; byte < values.size(); ++byte) {
      if (values[byte] - zero_point != static_cast<float>(byte) - moved) return std::nullopt;
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
  Folder(Graph& graph, PassContext& context)
      : graph_(graph), context_(context), report_(context.report) {}

  Status Run() {
    for (const OpId id : graph_.OpOrder()) {
      if (!graph_.IsOp(id)) continue;
      const OpKind kind = graph_.op(id).kind;
      if (kind == OpKind::kConv) TENON_RETURN_IF_ERROR(Try(id, &Folder::FoldIntoConv));
      if (kind == OpKind::kQuantizedConv)
        TENON_RETURN_IF_ERROR(Try(id, &Folder::FoldIntoQuantized));
    }
    // What is left of ways through floats.
    for (const OpId id : graph_.OpOrder()) {
      if (!graph_.IsOp(id)) continue;
      if (graph_.op(id).kind != OpKind::kQuantize) continue;
      TENON_RETURN_IF_ERROR(Try(LastLookup(id), &Folder::LookUp));
    }
    return {};
  }

 private:
  using Fold = Result<std::string> (Folder::*)(OpId id, const ByteValues& made);

  /// `fold` returns why nothing changed, or none.
  Status Try(OpId id, Fold fold) {
    const bool is_reader = fold != &Folder::LookUp;
    const Op& op = graph_.op(id);
    const auto made = FindByteValues(graph_, is_reader ? op.inputs[0] : op.outputs[0]);
    if (!made || made->ops == 0) return {};
    TENON_ASSIGN_OR_RETURN(const std::string reason, (this->*fold)(id, *made));
    if (reason.empty()) {
      ++report_.changed;
    } else {
      Decline(graph_, id, reason, report_);
    }
    return {};
  }

  /// Returns the last of the lookups that are the only readers of the output of `quantize`.
  [[nodiscard]] OpId LastLookup(OpId quantize) const {
    OpId last = quantize;
    while (true) {
      const OpId reader = graph_.OnlyConsumer(graph_.op(last).outputs[0]);
      if (reader == kNone || graph_.op(reader).kind != OpKind::kLookup) return last;
      last = reader;
    }
  }

  Result<std::string> FoldIntoConv(OpId id, const ByteValues& made) {
    const Op before = graph_.op(id);
    const Tensor& weights = graph_.tensor(before.inputs[GemmInput::kWeights]);
    if (!weights.IsConstant() || weights.dtype != DType::kF32) {
      return std::string("its weights are no constants of f32");
    }
    const auto line = LineOf(made);
    if (!line) return std::string("the values of a channel lie on no line");
    std::vector<float> means;
    for (size_t c = 0; c < line->gain.size(); ++c) {
      means.push_back(static_cast<float>(-line->shift[c] / line->gain[c]));
    }
    const std::string name = weights.name;
    const Shape shape = weights.shape;
    const std::vector<float> scaled =
        ScaleInputChannels(weights, before.attributes.As<ConvAttributes>().group, line->gain);
    Op after = before;
    after.inputs.resize(ConvInput::kXMean + 1, kNone);
    after.inputs[GemmInput::kWeights] =
        graph_.AddConstantOf(name + ".of_bytes", DType::kF32, shape, scaled);
    after.inputs[ConvInput::kXMean] =
        graph_.AddConstantOf(name + ".mean", DType::kF32, VectorOf(means.size()), means);
    return Replace(id, made, after,
                   {after.inputs[GemmInput::kWeights], after.inputs[ConvInput::kXMean]});
  }

  Result<std::string> FoldIntoQuantized(OpId id, const ByteValues& made) {
    const Op before = graph_.op(id);
    float zero_point = 0;
    if (before.inputs.size() > QuantizedGemmInput::kXZeroPoint &&
        before.inputs[QuantizedGemmInput::kXZeroPoint] != kNone) {
      const Tensor& old = graph_.tensor(before.inputs[QuantizedGemmInput::kXZeroPoint]);
      if (!old.IsConstant() || old.shape.Elements() != 1) {
        return std::string("its input has no one constant zero point");
      }
      const auto bits = static_cast<uint8_t>(old.constant->front());
      zero_point = static_cast<float>(old.dtype == DType::kI8 ? static_cast<int8_t>(bits) : bits);
    }
    const auto zero_points = ZeroPointBytes(made, zero_point);
    if (!zero_points) return std::string("a byte is not the quantized value");
    Op after = before;
    if (after.inputs.size() <= QuantizedGemmInput::kXZeroPoint)
      after.inputs.resize(QuantizedGemmInput::kXZeroPoint + 1, kNone);
    after.inputs[QuantizedGemmInput::kXZeroPoint] =
        graph_.AddConstantOf(graph_.tensor(made.bytes).name + ".zero_point", DType::kU8,
                             VectorOf(zero_points->size()), *zero_points);
    return Replace(id, made, after, {after.inputs[QuantizedGemmInput::kXZeroPoint]});
  }

  /// Makes the quantized values of op `id` directly from the bytes.
  Result<std::string> LookUp(OpId id, const ByteValues& made) {
    if (!made.through_floats) return std::string();
    const bool one_table =
        std::all_of(made.values.begin(), made.values.end(),
                    [&](const auto& values) { return values == made.values.front(); });
    if (!one_table) return std::string("channels would need lookups of their own");
    const TensorId quantized = graph_.op(id).outputs[0];
    const std::string name = graph_.op(id).name;
    const DType dtype = graph_.tensor(quantized).dtype;
    std::vector<uint8_t> table;
    for (const float value : made.values.front()) {
      table.push_back(static_cast<uint8_t>(static_cast<int32_t>(value)));
    }
    const TensorId constant =
        graph_.AddConstantOf(name + ".table", dtype, VectorOf(table.size()), table);
    TENON_ASSIGN_OR_RETURN(const TensorId bytes, Turned(id, made));
    TENON_ASSIGN_OR_RETURN(const OpId lookup,
                           graph_.InsertOp(id, OpKind::kLookup, name, {bytes, constant},
                                           Attributes(), {name + ".looked_up"}));
    BypassAndErase(graph_, id, graph_.op(lookup).outputs[0]);
    return std::string();
  }

  /// Returns the bytes in the dimension order of the tensor made from them; adds ops before op
  /// `position`.
  Result<TensorId> Turned(OpId position, const ByteValues& made) {
    if (std::is_sorted(made.permutation.begin(), made.permutation.end())) return made.bytes;
    TransposeAttributes transpose;
    transpose.rank = static_cast<int32_t>(made.permutation.size());
    std::copy(made.permutation.begin(), made.permutation.end(), transpose.permutation);
    const std::string name = graph_.tensor(made.bytes).name + ".turned";
    TENON_ASSIGN_OR_RETURN(const OpId op,
                           graph_.InsertOp(position, OpKind::kTranspose, name, {made.bytes},
                                           Attributes(transpose), {name}));
    return graph_.op(op).outputs[0];
  }

  /// Gives `id` the operands of `after`, and the bytes, if its kernel is as good; else removes the
  /// new constants.
  Result<std::string> Replace(OpId id, const ByteValues& made, Op after,
                              const std::vector<TensorId>& constants) {
    TENON_ASSIGN_OR_RETURN(const TensorId bytes, Turned(id, made));
    after.inputs[0] = bytes;
    const std::vector<TensorId> before = graph_.op(id).inputs;
    const auto& why_worse = context_.why_worse_kernel;
    std::string reason = why_worse ? why_worse(graph_, graph_.op(id), after) : std::string();
    if (reason.empty()) graph_.MutableOp(id).inputs = after.inputs;
    DropUnread(reason.empty() ? before : constants);
    DropUnread({bytes});
    return reason;
  }

  /// Removes what has no readers.
  void DropUnread(const std::vector<TensorId>& tensors) {
    for (const TensorId id : tensors) {
      if (id == kNone || !graph_.IsTensor(id) || graph_.IsRead(id)) continue;
      const Tensor& tensor = graph_.tensor(id);
      if (tensor.producer != kNone) {
        EraseIfUnread(graph_, tensor.producer);
      } else if (tensor.IsConstant()) {
        graph_.EraseTensor(id);
      }
    }
  }

  Graph& graph_;
  const PassContext& context_;
  PassReport& report_;
};

}  // namespace

Status FoldInputFormats(Graph& graph, PassContext& context) { return Folder(graph, context).Run(); }

}  // namespace tenon::converter
