#include "converter/passes/remove_constant_channels.hpp"

#include <algorithm>
#include <utility>

#include "converter/ir/rewrite.hpp"
#include "converter/passes/quantized_sums.hpp"
#include "runtime/base/round_up.hpp"
#include "runtime/ops/host/op_host_row.hpp"
#include "runtime/ops/requantize.hpp"

namespace tenon::converter {
namespace {

using In = QuantizedGemmInput;
using ChannelValues =
    std::vector<std::optional<int64_t>>;  ///< by channel; none: it is not constant

/// Kernels take channels by four.
constexpr size_t kChannelStep = 4;

bool HasPads(const int32_t (&pads)[4]) {
  return std::any_of(pads, pads + 4, [](int32_t amount) { return amount != 0; });
}

ChannelValues ConstantsOf(const QuantizedSums& sums) {
  ChannelValues values(sums.outputs());
  for (size_t i = 0; i < values.size(); ++i) values[i] = sums.ConstantValue(i);
  return values;
}

/// The ops from one whose outputs have constant channels to the one that reads them.
struct Chain {
  std::vector<OpId> ops;  ///< the maker, what channels pass through, the reader
  ChannelValues values;   ///< that the reader finds; none: the channel must stay
};

class ChainFinder {
 public:
  explicit ChainFinder(const Graph& graph) : graph_(graph) {}

  /// Returns none if nothing reads the channels of `maker` in a way that can do with fewer.
  std::optional<Chain> Find(OpId maker, ChannelValues values) {
    chain_.ops = {maker};
    chain_.values = std::move(values);
    for (;;) {
      const TensorId tensor = graph_.op(chain_.ops.back()).outputs[0];
      const OpId reader = graph_.OnlyConsumer(tensor);
      if (reader == kNone || graph_.IsOutput(tensor) || graph_.op(reader).outputs.size() != 1) {
        return std::nullopt;
      }
      const Op& op = graph_.op(reader);
      if (std::count(op.inputs.begin(), op.inputs.end(), tensor) != 1 || op.inputs[0] != tensor) {
        return std::nullopt;
      }
      chain_.ops.push_back(reader);
      if (EndsAt(op)) return std::move(chain_);
      if (!PassesThrough(op)) return std::nullopt;
    }
  }

 private:
  /// A reader that sums over channels.
  bool EndsAt(const Op& op) {
    const OpTraits traits = TraitsOf(op.kind);
    if (!traits.IsQuantizedGemm() || IsDepthwise(graph_, op)) return false;
    const auto sums = ReadQuantizedSums(graph_, op);
    if (!sums) return false;
    const Shape& x = graph_.tensor(op.inputs[0]).shape;
    if (traits.matrix_product) {
      return op.attributes.As<MatMulAttributes>().transpose_a == 0 && x.rank == 2 &&
             static_cast<size_t>(x[1]) == chain_.values.size();
    }
    const auto conv = op.attributes.As<ConvAttributes>();
    if (conv.group != 1) return false;
    for (auto& value : chain_.values) {
      // At the border, padding stands for it.
      if (value && HasPads(conv.pads) && *value != sums->x_zero_point) value.reset();
    }
    return true;
  }

  bool PassesThrough(const Op& op) {
    if (IsDepthwise(graph_, op)) return PassDepthwise(op);
    switch (op.kind) {
      case OpKind::kQuantizedAveragePool:
        return PassAverage(op);
      case OpKind::kMaxPool:
        return !HasPads(op.attributes.As<PoolAttributes>().pads) && HasBytes(op.outputs[0]);
      case OpKind::kReshape: {
        const Shape& x = graph_.tensor(op.inputs[0]).shape;
        const Shape& y = graph_.tensor(op.outputs[0]).shape;
        return x.rank == 4 && y.rank == 2 && x[2] == 1 && x[3] == 1 && y[0] == x[0];
      }
      default:
        return false;
    }
  }

  [[nodiscard]] bool HasBytes(TensorId id) const {
    const DType dtype = graph_.tensor(id).dtype;
    return dtype == DType::kI8 || dtype == DType::kU8;
  }

  bool PassDepthwise(const Op& op) {
    const auto sums = ReadQuantizedSums(graph_, op);
    if (!sums || !HasBytes(op.outputs[0])) return false;
    const bool has_pads = HasPads(op.attributes.As<ConvAttributes>().pads);
    for (size_t i = 0; i < chain_.values.size(); ++i) {
      auto& value = chain_.values[i];
      if (!value) continue;
      if (has_pads && *value != sums->x_zero_point) {
        value = sums->ConstantValue(i);
        continue;
      }
      int64_t sum = sums->bias[i];
      for (size_t tap = 0; tap < sums->depth(); ++tap) {
        sum += sums->weights[i * sums->depth() + tap] * (*value - sums->x_zero_point);
      }
      value = sums->ValueOf(i, sum);
    }
    return true;
  }

  bool PassAverage(const Op& op) {
    const auto average = op.attributes.As<QuantizedAveragePoolAttributes>();
    if (op.inputs.size() != 1 || !HasBytes(op.outputs[0]) || HasPads(average.pool.pads) ||
        average.pool.ceil_mode != 0) {
      return false;
    }
    const int64_t count = int64_t{average.pool.kernel[0]} * average.pool.kernel[1];
    for (auto& value : chain_.values) {
      if (!value) continue;
      const int64_t sum = count * (*value - average.x_zero_point);
      if (sum < INT32_MIN || sum > INT32_MAX) return false;
      const auto narrow = static_cast<int32_t>(sum);
      const int32_t rounded =
          average.output.rounding == Rounding::kHalfAway
              ? DivideHalfAway(narrow, count)
              : RoundHalfEven(static_cast<float>(narrow) *
                              (average.scale.scale / static_cast<float>(count)));
      value = Saturate(average.output, rounded);
    }
    return true;
  }

  const Graph& graph_;
  Chain chain_;
};

/// Makes the ops of a chain again with some of its channels.
class Narrower {
 public:
  Narrower(Graph& graph, const Chain& chain, std::vector<size_t> kept)
      : graph_(graph), chain_(chain), kept_(std::move(kept)) {}

  Status Run() {
    TensorId x = graph_.op(chain_.ops.front()).inputs[0];
    for (size_t i = 0; i < chain_.ops.size(); ++i) {
      const bool is_last = i + 1 == chain_.ops.size();
      TENON_ASSIGN_OR_RETURN(x, is_last ? MakeReader(x) : MakeFewer(chain_.ops[i], x, i == 0));
    }
    const OpId last = chain_.ops.back();
    const TensorId before = graph_.op(last).outputs[0];
    const std::string name = graph_.tensor(before).name;
    graph_.ReplaceUses(before, x);
    EraseIfUnread(graph_, last);
    graph_.RenameTensor(x, name);
    return {};
  }

 private:
  /// Returns a constant with the kept indices of `axis`; others, with one element, as they are.
  TensorId Sliced(TensorId id, int32_t axis) {
    if (id == kNone) return kNone;
    const Tensor& tensor = graph_.tensor(id);
    if (tensor.shape.Elements() == 1) return id;
    Shape shape = tensor.shape;
    const auto all = static_cast<size_t>(shape[axis]);
    shape[axis] = static_cast<int32_t>(kept_.size());
    size_t inner = static_cast<size_t>(DTypeBytes(tensor.dtype));
    for (int32_t i = axis + 1; i < shape.rank; ++i) inner *= static_cast<size_t>(shape[i]);
    std::vector<std::byte> bytes;
    const std::vector<std::byte>& from = *tensor.constant;
    for (size_t outer = 0; outer < from.size(); outer += all * inner) {
      for (const size_t index : kept_) {
        const auto begin = from.begin() + static_cast<std::ptrdiff_t>(outer + index * inner);
        bytes.insert(bytes.end(), begin, begin + static_cast<std::ptrdiff_t>(inner));
      }
    }
    return graph_.AddConstant(tensor.name + ".kept", tensor.dtype, shape, std::move(bytes));
  }

  Result<TensorId> Insert(OpId like, const std::vector<TensorId>& inputs,
                          const Attributes& attributes) {
    const Op& op = graph_.op(like);
    const std::string source_ops = op.source_ops;
    const std::string tensor = graph_.tensor(op.outputs[0]).name + ".kept";
    TENON_ASSIGN_OR_RETURN(const OpId id,
                           graph_.InsertOp(like, op.kind, op.name, inputs, attributes, {tensor}));
    graph_.MutableOp(id).source_ops = source_ops;
    return graph_.op(id).outputs[0];
  }

  /// The maker, or what the channels pass through.
  Result<TensorId> MakeFewer(OpId id, TensorId x, bool is_maker) {
    const Op& op = graph_.op(id);
    std::vector<TensorId> inputs = op.inputs;
    Attributes attributes = op.attributes;
    inputs[0] = x;
    const auto count = static_cast<int32_t>(kept_.size());
    if (TraitsOf(op.kind).IsQuantizedGemm()) {
      for (const int i : {In::kWeights, In::kBias, In::kMultiplier, In::kShift}) {
        const auto at = static_cast<size_t>(i);
        if (at < inputs.size()) inputs[at] = Sliced(inputs[at], 0);
      }
      auto conv = attributes.As<QuantizedConvAttributes>();
      if (!is_maker) conv.conv.group = count;
      attributes = Attributes(conv);
    } else if (op.kind == OpKind::kReshape) {
      auto reshape = attributes.As<ReshapeAttributes>();
      reshape.dims[1] = count;
      attributes = Attributes(reshape);
    }
    return Insert(id, inputs, attributes);
  }

  Result<TensorId> MakeReader(TensorId x) {
    const OpId id = chain_.ops.back();
    const Op& op = graph_.op(id);
    std::vector<TensorId> inputs = op.inputs;
    inputs[0] = x;
    const bool is_product = TraitsOf(op.kind).matrix_product;
    const bool is_first = is_product && op.attributes.As<MatMulAttributes>().transpose_b == 0;
    inputs[In::kWeights] = Sliced(inputs[In::kWeights], is_first ? 0 : 1);
    inputs[In::kBias] = BiasOfReader(op);
    return Insert(id, inputs, op.attributes);
  }

  /// Its bias, and what the channels that go add to each sum.
  TensorId BiasOfReader(const Op& op) {
    const auto sums = ReadQuantizedSums(graph_, op);
    const size_t channels = chain_.values.size();
    const size_t taps = sums->depth() / channels;
    std::vector<bool> stays(channels, false);
    for (const size_t index : kept_) stays[index] = true;
    std::vector<int32_t> bias;
    for (size_t output = 0; output < sums->outputs(); ++output) {
      auto sum = static_cast<uint32_t>(sums->bias[output]);
      for (size_t channel = 0; channel < channels; ++channel) {
        if (stays[channel]) continue;
        const int64_t value = *chain_.values[channel] - sums->x_zero_point;
        for (size_t tap = 0; tap < taps; ++tap) {
          const size_t at = output * sums->depth() + channel * taps + tap;
          sum += static_cast<uint32_t>(sums->weights[at] * value);
        }
      }
      bias.push_back(static_cast<int32_t>(sum));
    }
    const Shape shape({static_cast<int32_t>(bias.size())});
    return graph_.AddConstantOf(op.name + ".bias", DType::kI32, shape, bias);
  }

  Graph& graph_;
  const Chain& chain_;
  std::vector<size_t> kept_;
};

/// Returns the channels that stay.
std::vector<size_t> KeptOf(const ChannelValues& values) {
  const auto varying = static_cast<size_t>(
      std::count_if(values.begin(), values.end(), [](const auto& value) { return !value; }));
  const size_t wanted = RoundUp(std::max<size_t>(varying, 1), kChannelStep);
  size_t spare = wanted - varying;  // constant ones that stay
  std::vector<size_t> kept;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] && spare == 0) continue;
    if (values[i]) --spare;
    kept.push_back(i);
  }
  return kept;
}

/// Gives constant outputs factors in the usual range, and no weights. Returns whether any changed.
bool PlainFactors(Graph& graph, OpId id, QuantizedSums& sums, const ChannelValues& values) {
  const Op& op = graph.op(id);
  const bool each = sums.multiplier.size() == sums.outputs() && sums.outputs() > 1;
  if (sums.output.rounding != Rounding::kFixedPoint || !each) return false;
  // Kernels have short ways for sums and shifts up to these.
  constexpr int64_t kUsualShift = -20;
  constexpr int64_t kUsualBias = int64_t{1} << 29;
  bool changed = false;
  for (size_t i = 0; i < values.size(); ++i) {
    const bool is_usual = sums.shift[i] >= kUsualShift && sums.shift[i] < 0 &&
                          sums.bias[i] < kUsualBias && sums.bias[i] > -kUsualBias;
    if (!values[i] || is_usual) continue;
    // A quarter of the bias, exactly.
    sums.multiplier[i] = int64_t{1} << 30;
    sums.shift[i] = -1;
    sums.bias[i] = (*values[i] - sums.output.zero_point) * 4;
    std::fill_n(sums.weights.begin() + static_cast<std::ptrdiff_t>(i * sums.depth()), sums.depth(),
                0);
    changed = true;
  }
  if (!changed) return false;
  const auto write = [&](size_t input, const auto& as) {
    const Tensor tensor = graph.tensor(op.inputs[input]);
    graph.SetInput(id, input,
                   graph.AddConstantOf(tensor.name + ".plain", tensor.dtype, tensor.shape, as));
  };
  write(In::kWeights, std::vector<int8_t>(sums.weights.begin(), sums.weights.end()));
  write(In::kBias, std::vector<int32_t>(sums.bias.begin(), sums.bias.end()));
  write(In::kMultiplier, std::vector<int32_t>(sums.multiplier.begin(), sums.multiplier.end()));
  write(In::kShift, std::vector<int8_t>(sums.shift.begin(), sums.shift.end()));
  return true;
}

/// Returns whether the op was changed or replaced.
Result<bool> Visit(Graph& graph, OpId id) {
  const Op& op = graph.op(id);
  if (!TraitsOf(op.kind).IsQuantizedGemm() || !TraitsOf(op.kind).convolution) return false;
  const DType dtype = graph.tensor(op.outputs[0]).dtype;
  if (dtype != DType::kI8 && dtype != DType::kU8) return false;
  auto sums = ReadQuantizedSums(graph, op);
  if (!sums) return false;
  const ChannelValues values = ConstantsOf(*sums);
  if (std::none_of(values.begin(), values.end(), [](const auto& v) { return v.has_value(); })) {
    return false;
  }
  if (op.attributes.As<ConvAttributes>().group == 1) {
    if (const auto chain = ChainFinder(graph).Find(id, values)) {
      std::vector<size_t> kept = KeptOf(chain->values);
      if (kept.size() < values.size()) {
        TENON_RETURN_IF_ERROR(Narrower(graph, *chain, std::move(kept)).Run());
        return true;
      }
    }
  }
  return op.InputOrNone(In::kBias) != kNone && PlainFactors(graph, id, *sums, values);
}

}  // namespace

Status RemoveConstantChannels(Graph& graph, PassContext& context) {
  std::vector<OpId> order = graph.OpOrder();
  for (size_t i = 0; i < order.size();) {
    TENON_ASSIGN_OR_RETURN(const bool changed, Visit(graph, order[i]));
    if (!changed) {
      ++i;
      continue;
    }
    ++context.report.changed;
    order = graph.OpOrder();  // the same place again: another op stands there, or a changed one
  }
  return {};
}

}  // namespace tenon::converter
