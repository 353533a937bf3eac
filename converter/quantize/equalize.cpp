#include "converter/quantize/equalize.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "converter/ir/elements.hpp"
#include "converter/ir/rewrite.hpp"

namespace tenon::converter {
namespace {

constexpr int kMostRounds = 20;
constexpr double kNearOne = 0.01;
constexpr double kMostFactor = 1e3;  // limits the factor of channels that are almost 0

struct Pair {
  OpId first = kNone;
  OpId second = kNone;
};

bool LetsFactorsPass(const Op& op) {
  if (op.kind != OpKind::kUnary) return false;
  const UnaryAttributes unary = op.attributes.As<UnaryAttributes>();
  return unary.function == UnaryFunction::kRelu || unary.function == UnaryFunction::kLeakyRelu ||
         unary.function == UnaryFunction::kIdentity;
}

/// Returns true for a constant that only this op reads.
bool IsOwnConstant(const Graph& graph, TensorId id, OpId op) {
  return id != kNone && graph.tensor(id).IsConstant() && graph.tensor(id).dtype == DType::kF32 &&
         graph.OnlyConsumer(id) == op;
}

/// Returns why no factor can be folded into the op's weights; null if one can.
const char* WhyNotScalable(const Graph& graph, OpId id) {
  const Op& op = graph.op(id);
  if (!IsOwnConstant(graph, op.inputs[GemmInput::kWeights], id))
    return "its weights are not its own constant";
  const TensorId bias = op.InputOrNone(GemmInput::kBias);
  if (bias != kNone && !IsOwnConstant(graph, bias, id)) return "its bias is not its own constant";
  if (op.InputOrNone(ConvInput::kResidual) != kNone) return "it adds a residual";
  if (GetActivation(op).function != UnaryFunction::kIdentity) return "it has an activation";
  return nullptr;
}

/// The convolution that alone reads what `first` computes, with nothing between that stops factors;
/// kNone if there is none.
OpId FindSecond(const Graph& graph, OpId first) {
  TensorId id = graph.op(first).outputs.front();
  while (true) {
    const OpId reader = graph.OnlyConsumer(id);
    if (reader == kNone) return kNone;
    const Op& op = graph.op(reader);
    if (op.kind == OpKind::kConv && op.inputs.front() == id) return reader;
    if (!LetsFactorsPass(op)) return kNone;
    id = op.outputs.front();
  }
}

/// Weights [M, C / group, ...] in the role of first (channel: m) or second (channel: the input's).
class ChannelsOf {
 public:
  ChannelsOf(const Graph& graph, OpId op, bool by_input)
      : shape_(graph.tensor(graph.op(op).inputs[GemmInput::kWeights]).shape), by_input_(by_input) {
    group_ = graph.op(op).attributes.As<ConvAttributes>().group;
    window_ = shape_[2] * shape_[3];
  }
  [[nodiscard]] size_t Of(size_t element) const {
    const auto in_group = static_cast<size_t>(shape_[1]);
    const size_t m = element / (in_group * static_cast<size_t>(window_));
    if (!by_input_) return m;
    const size_t c = element / static_cast<size_t>(window_) % in_group;
    return m / static_cast<size_t>(shape_[0] / group_) * in_group + c;
  }
  [[nodiscard]] size_t count() const {
    return static_cast<size_t>(by_input_ ? shape_[1] * group_ : shape_[0]);
  }

 private:
  Shape shape_;
  bool by_input_;
  int32_t group_ = 1;
  int32_t window_ = 1;
};

std::vector<double> LargestByChannel(const Graph& graph, OpId op, bool by_input) {
  const ChannelsOf channels(graph, op, by_input);
  const std::vector<double> weights =
      ReadElements(graph.tensor(graph.op(op).inputs[GemmInput::kWeights]));
  std::vector<double> largest(channels.count());
  for (size_t i = 0; i < weights.size(); ++i) {
    double& value = largest[channels.Of(i)];
    value = std::max(value, std::abs(weights[i]));
  }
  return largest;
}

void Replace(Graph& graph, OpId op, size_t input, const std::vector<double>& values) {
  Tensor& tensor = graph.MutableTensor(graph.op(op).inputs[input]);
  tensor.constant =
      std::make_shared<const std::vector<std::byte>>(WriteElements(tensor.dtype, values));
}

bool IsDepthwise(const Graph& graph, OpId id) {
  const int32_t group = graph.op(id).attributes.As<ConvAttributes>().group;
  return group > 1 && graph.tensor(graph.op(id).inputs[GemmInput::kWeights]).shape[1] == 1;
}

/// Returns what each channel between the two should be divided by. `values`: the largest of each
/// channel, or null.
std::vector<double> WantedFactors(const Graph& graph, const Pair& pair,
                                  const std::vector<double>* values) {
  std::vector<double> factors =
      values != nullptr ? *values : LargestByChannel(graph, pair.first, /*by_input=*/false);
  if (values != nullptr && IsDepthwise(graph, pair.second)) {
    const double largest = *std::max_element(factors.begin(), factors.end());
    for (double& factor : factors) factor = factor > 0 ? factor / largest : 1.0;
    return factors;
  }
  const std::vector<double> second = LargestByChannel(graph, pair.second, /*by_input=*/true);
  for (size_t i = 0; i < factors.size(); ++i) {
    const bool empty = !(factors[i] > 0) || !(second[i] > 0);
    factors[i] = empty ? 1.0 : std::sqrt(factors[i] / second[i]);
  }
  return factors;
}

/// Returns the same within limits; empty if all are near 1.
std::vector<double> FactorsOf(const Graph& graph, const Pair& pair,
                              const std::vector<double>* values) {
  std::vector<double> factors = WantedFactors(graph, pair, values);
  bool matters = false;
  for (double& factor : factors) {
    factor = std::clamp(factor, 1 / kMostFactor, kMostFactor);
    matters = matters || std::abs(factor - 1) > kNearOne;
  }
  if (!matters) factors.clear();
  return factors;
}

/// Multiplies weights by a power (1 or -1) of their channel's factor.
void ScaleWeights(Graph& graph, OpId op, bool by_input, const std::vector<double>& factors) {
  const ChannelsOf channels(graph, op, by_input);
  std::vector<double> values = ReadElements(graph.tensor(graph.op(op).inputs[GemmInput::kWeights]));
  for (size_t i = 0; i < values.size(); ++i) {
    const double factor = factors[channels.Of(i)];
    values[i] *= by_input ? factor : 1 / factor;
  }
  Replace(graph, op, GemmInput::kWeights, values);
}

void ApplyFactors(Graph& graph, const Pair& pair, const std::vector<double>& factors) {
  ScaleWeights(graph, pair.first, /*by_input=*/false, factors);
  ScaleWeights(graph, pair.second, /*by_input=*/true, factors);
  const TensorId bias = graph.op(pair.first).InputOrNone(GemmInput::kBias);
  if (bias == kNone) return;
  std::vector<double> values = ReadElements(graph.tensor(bias));
  for (size_t i = 0; i < values.size(); ++i) values[i] /= factors[i];
  Replace(graph, pair.first, GemmInput::kBias, values);
}

std::vector<Pair> FindPairs(const Graph& graph, PassReport& report) {
  std::vector<Pair> pairs;
  for (const OpId id : graph.OpOrder()) {
    if (graph.op(id).kind != OpKind::kConv) continue;
    const OpId second = FindSecond(graph, id);
    if (const char* reason = WhyNotScalable(graph, id)) {
      Decline(graph, id, reason, report);
    } else if (second == kNone) {
      Decline(graph, id, "its result does not go through relus alone into one convolution", report);
    } else if (!IsOwnConstant(graph, graph.op(second).inputs[GemmInput::kWeights], second)) {
      Decline(graph, id, "the weights of the convolution behind it are not its own constant",
              report);
    } else {
      pairs.push_back({id, second});
    }
  }
  return pairs;
}

}  // namespace

Status EqualizeLayers(Graph& graph, PassReport& report, ChannelMaxima maxima) {
  const std::vector<Pair> pairs = FindPairs(graph, report);
  std::set<OpId> changed;
  for (int round = 0; round < kMostRounds; ++round) {
    bool changes = false;
    for (const Pair& pair : pairs) {
      const auto values = maxima.find(graph.op(pair.second).inputs.front());
      std::vector<double>* largest = values == maxima.end() ? nullptr : &values->second;
      if (largest == nullptr && !maxima.empty()) continue;
      const std::vector<double> factors = FactorsOf(graph, pair, largest);
      if (factors.empty()) continue;
      ApplyFactors(graph, pair, factors);
      for (size_t i = 0; largest != nullptr && i < factors.size(); ++i) {
        (*largest)[i] /= factors[i];
      }
      changes = true;
      changed.insert(pair.first);
    }
    if (!changes) break;
  }
  report.changed = static_cast<int>(changed.size());
  return {};
}

}  // namespace tenon::converter
