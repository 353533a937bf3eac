#include <cmath>

#include "converter/ir/elements.hpp"
#include "converter/ir/rewrite.hpp"
#include "converter/passes/patterns.hpp"
#include "converter/passes/quantization.hpp"

namespace tenon::converter {
namespace {

constexpr size_t kFloatInputs = 4;  ///< what follows is how weights are stored
constexpr double kMostSum = 2147483648.0;
/// Scales of a bias are products of two scales, which the model's quantizer rounded to f32.
constexpr double kScaleRounding = 1e-6;
/// Of a step of the output, or of the coarsest channel's sum where the output is f32.
constexpr double kCutOff = 1e-3;

/// Returns the values of a constant, one per index of `axis` of `output`; none if it varies along
/// other dimensions.
std::optional<std::vector<double>> PerChannel(const Graph& graph, TensorId constant,
                                              const Shape& output, int32_t axis) {
  auto values = RealValues(graph, constant);
  if (!values.has_value()) return std::nullopt;
  const Shape& shape = graph.tensor(constant).shape;
  const int32_t missing = output.rank - shape.rank;  // NumPy aligns the last dimensions
  for (int32_t i = 0; i < shape.rank; ++i) {
    if (shape[i] != 1 && i + missing != axis) return std::nullopt;
  }
  if (values->size() == 1) values->resize(static_cast<size_t>(output[axis]), values->front());
  return values;
}

/// The ops and operands that become one quantized op.
struct GemmMatch {
  OpId gemm = kNone;
  Source x;
  Source w;
  std::vector<double> largest_sums;  ///< of products, per output channel or for all
  std::vector<double> bias;          ///< in units of bias_scales; empty: none
  std::vector<double> bias_scales;
  TensorId result = kNone;  ///< real: what the quantized op stands for
  std::vector<OpId> absorbed;
  OpId quantize = kNone;  ///< kNone: the output is f32
  Quantization y;
  QuantizedOutput output;
};

/// Returns bounds of the magnitude of a sum before the bias.
std::vector<double> LargestSums(const Graph& graph, const Op& op, const Source& x,
                                const Source& w) {
  const double least = OutputOf(x.as).min;
  double largest_x = 0;
  for (const int32_t zero : x.as.zero_points) {
    largest_x = std::max({largest_x, zero - least, least + 255 - zero});
  }
  const Tensor& weights = graph.tensor(w.quantized);
  const int32_t axis = WeightsChannelAxis(graph, op);
  const Shape& shape = weights.shape;
  size_t inner = 1;
  for (int32_t i = axis + 1; i < shape.rank; ++i) inner *= static_cast<size_t>(shape[i]);
  const auto channels = static_cast<size_t>(shape[axis]);
  if (!weights.IsConstant()) {
    const double count = static_cast<double>(shape.Elements()) / static_cast<double>(channels);
    return {largest_x * 255.0 * count};
  }
  std::vector<double> sums(channels, 0.0);
  const std::vector<double> values = ReadElements(weights);
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t channel = i / inner % channels;
    const size_t at = channel % w.as.zero_points.size();
    sums[channel] += largest_x * std::abs(values[i] - w.as.zero_points[at]);
  }
  return sums;
}

/// `values`: real numbers, one per channel, that `tensor` stands for.
void SetBias(const Graph& graph, TensorId tensor, std::vector<double> values, GemmMatch& match) {
  match.bias_scales.assign(1, 1.0);
  if (const auto source = SourceOf(graph, tensor); source.has_value()) {
    match.bias_scales.assign(source->as.scales.begin(), source->as.scales.end());
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = std::nearbyint(values[i] / match.bias_scales[i % match.bias_scales.size()]);
    }
  }
  match.bias = std::move(values);
}

/// Returns true for i8 or u8 with one scale. A convolution's input may have a zero point per
/// channel.
bool IsInput(const Op& op, const Quantization& x) {
  if (x.IsPlain()) return true;
  const bool bytes = x.dtype == DType::kI8 || x.dtype == DType::kU8;
  const bool one_scale = std::all_of(x.scales.begin(), x.scales.end(),
                                     [&](float scale) { return scale == x.scales.front(); });
  return op.kind == OpKind::kConv && x.axis == 1 && bytes && one_scale;
}

std::string WhyNotOperands(const Graph& graph, const Op& op, GemmMatch& match) {
  const auto x = SourceOf(graph, op.inputs[GemmInput::kX]);
  const auto w = SourceOf(graph, op.inputs[GemmInput::kWeights]);
  if (!x.has_value() || !w.has_value()) {
    return "an operand is not dequantized with constant parameters";
  }
  if (!IsInput(op, x->as)) return "its input is not i8 or u8 with one scale";
  if (w->as.dtype != DType::kI8 && w->as.dtype != DType::kU8) return "its weights are not i8 or u8";
  if (!w->as.PerTensor() && w->as.axis != WeightsChannelAxis(graph, op)) {
    return "the scales of its weights do not run along output channels";
  }
  if (graph.tensor(op.outputs.front()).dtype != DType::kF32) return "it is not f32";
  if (op.inputs.size() > kFloatInputs) return "its weights are stored in another form already";
  match.x = *x;
  match.w = *w;
  match.largest_sums = LargestSums(graph, op, *x, *w);
  return "";
}

std::string WhyNotBias(const Graph& graph, const Op& op, GemmMatch& match) {
  const TensorId bias = op.InputOrNone(GemmInput::kBias);
  if (bias == kNone) return "";
  const bool conv = op.kind == OpKind::kConv;
  const Shape& aligned = conv ? graph.tensor(bias).shape : graph.tensor(op.outputs.front()).shape;
  auto values = PerChannel(graph, bias, aligned, conv ? 0 : aligned.rank - 1);
  if (!values.has_value()) return "its bias is not one constant per output channel";
  SetBias(graph, bias, std::move(*values), match);
  return "";
}

/// Fuses the bias that the only reader of `match.result` adds, if that op does nothing else.
void TakeAddition(const Graph& graph, GemmMatch& match) {
  const OpId id = graph.OnlyConsumer(match.result);
  if (id == kNone || graph.op(id).kind != OpKind::kBinary || !match.bias.empty()) return;
  const Op& add = graph.op(id);
  const auto binary = add.attributes.As<BinaryAttributes>();
  if (binary.function != BinaryFunction::kAdd) return;
  const TensorId other = add.inputs[BinaryInput::kX] == match.result ? add.inputs[BinaryInput::kY]
                                                                     : add.inputs[BinaryInput::kX];
  const Shape& shape = graph.tensor(match.result).shape;
  if (graph.tensor(add.outputs.front()).shape != shape) return;
  if (binary.activation.function != UnaryFunction::kIdentity) return;
  auto values = PerChannel(graph, other, shape, ChannelAxis(graph, graph.op(match.gemm)));
  if (!values.has_value()) return;
  SetBias(graph, other, std::move(*values), match);
  match.result = add.outputs.front();
  match.absorbed.push_back(id);
}

/// Follows bounds after the result up to a quantize op; fuses them if there is one.
void TakeQuantize(const Graph& graph, GemmMatch& match) {
  std::vector<Clamp> clamps;
  std::vector<OpId> ops;
  OpId next = graph.OnlyConsumer(match.result);
  while (next != kNone) {
    const auto clamp = ClampOf(graph, graph.op(next));
    if (!clamp.has_value()) break;
    clamps.push_back(*clamp);
    ops.push_back(next);
    next = graph.OnlyConsumer(graph.op(next).outputs.front());
  }
  if (next == kNone) return;
  const auto target = PlainTargetOf(graph, graph.op(next));
  if (!target.has_value()) return;
  match.quantize = next;
  match.y = *target;
  match.output = OutputOf(*target);
  for (size_t i = clamps.size(); i-- > 0;) ApplyClamp(*target, clamps[i], match.output);
  match.absorbed.insert(match.absorbed.end(), ops.begin(), ops.end());
  match.result = graph.op(next).outputs.front();
}

/// The constants of the quantized op.
struct Factors {
  std::vector<float> multiplier;
  std::vector<int32_t> bias;
};

/// Returns the bias of channel `i` in units of its sum, clamped so that no sum is out of range.
/// Dead channels have minute scales, so that biases can exceed their type: what is cut off must be
/// negligible against a step of the output.
std::optional<int32_t> BiasOf(const GemmMatch& match, size_t i, double step) {
  const double x_scale = match.x.as.scales.front();
  const double unit = x_scale * double{match.w.as.scales[i % match.w.as.scales.size()]};
  double ratio = match.bias_scales[i % match.bias_scales.size()] / unit;
  if (std::abs(ratio - 1.0) < kScaleRounding) ratio = 1.0;
  const double wanted = std::nearbyint(match.bias[i] * ratio);
  const double most =
      std::max(0.0, kMostSum - 1.0 - match.largest_sums[i % match.largest_sums.size()]);
  const double steps = std::min(std::max(wanted, -most), most);
  if (!(std::abs(wanted - steps) * unit <= kCutOff * step)) return std::nullopt;
  return static_cast<int32_t>(steps);
}

std::string WhyNotFactors(const GemmMatch& match, Factors& factors) {
  const float x_scale = match.x.as.scales.front();
  const std::vector<float>& scales = match.w.as.scales;
  const float y_scale = match.quantize == kNone ? 1.0F : match.y.scales.front();
  for (const float w_scale : scales) {
    // Rounded after the product and after the quotient, as ONNX Runtime's QLinear operators do:
    // sums that land on a half, or next to one, are common enough to show.
    const float product = x_scale * w_scale;
    const float multiplier = std::isnormal(product)
                                 ? product / y_scale
                                 : static_cast<float>(double{x_scale} * double{w_scale} / y_scale);
    if (!std::isnormal(multiplier)) return "the factor from its sum to its output is out of range";
    factors.multiplier.push_back(multiplier);
  }
  const double coarsest = double{x_scale} * double{*std::max_element(scales.begin(), scales.end())};
  for (size_t i = 0; i < match.bias.size(); ++i) {
    const auto bias = BiasOf(match, i, match.quantize == kNone ? coarsest : y_scale);
    if (!bias.has_value()) return "its sum is out of range for 32 bits";
    factors.bias.push_back(*bias);
  }
  return "";
}

/// Returns none where all are 0.
TensorId ZeroPoints(Graph& graph, const std::string& name, const Quantization& as) {
  const auto zero = [](int32_t value) { return value == 0; };
  if (std::all_of(as.zero_points.begin(), as.zero_points.end(), zero)) return kNone;
  return AddIntegers(graph, name, as.dtype, as.zero_points);
}

Attributes AttributesOf(const Op& op, const QuantizedOutput& output) {
  if (op.kind == OpKind::kConv) {
    QuantizedConvAttributes attributes{op.attributes.As<ConvAttributes>(), output};
    attributes.conv.activation = {};
    return Attributes(attributes);
  }
  QuantizedMatMulAttributes attributes{op.attributes.As<MatMulAttributes>(), output};
  attributes.matmul.activation = {};
  return Attributes(attributes);
}

Result<OpId> Insert(Graph& graph, const GemmMatch& match, const Factors& factors) {
  const Op op = graph.op(match.gemm);
  using In = QuantizedGemmInput;
  std::vector<TensorId> inputs(In::kWeightsZeroPoint + 1, kNone);
  inputs[In::kX] = match.x.quantized;
  inputs[In::kWeights] = match.w.quantized;
  if (!factors.bias.empty()) {
    inputs[In::kBias] = AddIntegers(graph, op.name + ".bias", DType::kI32, factors.bias);
  }
  inputs[In::kMultiplier] = AddFloats(graph, op.name + ".multiplier", factors.multiplier);
  inputs[In::kXZeroPoint] = ZeroPoints(graph, op.name + ".x_zero_point", match.x.as);
  inputs[In::kWeightsZeroPoint] = ZeroPoints(graph, op.name + ".w_zero_point", match.w.as);
  while (inputs.back() == kNone) inputs.pop_back();
  const OpKind kind = op.kind == OpKind::kConv ? OpKind::kQuantizedConv : OpKind::kQuantizedMatMul;
  QuantizedOutput output = match.output;
  if (match.quantize == kNone) output.to = static_cast<int32_t>(DType::kF32);
  TENON_ASSIGN_OR_RETURN(const OpId made,
                         graph.InsertOp(match.gemm, kind, op.name, inputs, AttributesOf(op, output),
                                        {graph.tensor(match.result).name}));
  graph.MutableOp(made).source_ops = op.source_ops;
  return made;
}

/// Returns the op right after `id` in the order, or kNone.
OpId NextOf(const Graph& graph, OpId id) {
  const std::vector<OpId> order = graph.OpOrder();
  const auto place = std::find(order.begin(), order.end(), id) + 1;
  return place == order.end() ? kNone : *place;
}

/// Makes separate ops of what a float GEMM does after the bias: residual and activation.
Status SplitOff(Graph& graph, OpId id) {
  const Op op = graph.op(id);
  const TensorId residual = op.InputOrNone(ConvInput::kResidual);
  const Activation activation = GetActivation(op);
  if (residual == kNone && activation.function == UnaryFunction::kIdentity) return {};
  if (residual != kNone) graph.MutableOp(id).inputs.resize(ConvInput::kResidual);
  SetActivation(graph.MutableOp(id), {});
  const TensorId y = op.outputs.front();
  const Tensor& tensor = graph.tensor(y);
  const std::string name = tensor.name;
  graph.RenameTensor(y, name + ".sum");
  // Its readers get a stand-in, so that the new op, which reads it too, is none of them.
  const TensorId stand_in = graph.AddTensor("", tensor.dtype, tensor.shape);
  graph.ReplaceUses(y, stand_in);
  OpKind kind = OpKind::kUnary;
  std::vector<TensorId> inputs = {y};
  Attributes attributes{UnaryAttributes{activation.function, activation.a, activation.b}};
  if (residual != kNone) {
    kind = OpKind::kBinary;
    inputs.push_back(residual);
    attributes = Attributes(BinaryAttributes{BinaryFunction::kAdd, activation});
  }
  const char* suffix = residual == kNone ? ".activation" : ".residual";
  TENON_ASSIGN_OR_RETURN(const OpId made, graph.InsertOp(NextOf(graph, id), kind, op.name + suffix,
                                                         inputs, attributes, {name}));
  graph.ReplaceUses(stand_in, graph.op(made).outputs.front());
  graph.EraseTensor(stand_in);
  return {};
}

/// Makes the product with the following ops that can be fused; without them if the result is out of
/// range.
GemmMatch MatchWithReaders(const Graph& graph, GemmMatch match, Factors& factors) {
  match.result = graph.op(match.gemm).outputs.front();
  GemmMatch extended = match;
  TakeAddition(graph, extended);
  TakeQuantize(graph, extended);
  factors = {};
  if (WhyNotFactors(extended, factors).empty()) return extended;
  factors = {};
  (void)WhyNotFactors(match, factors);  // asked before
  return match;
}

}  // namespace

Result<std::string> TryQuantizeGemm(Graph& graph, OpId id) {
  GemmMatch match;
  match.gemm = id;
  Factors factors;
  std::string reason = WhyNotOperands(graph, graph.op(id), match);
  if (reason.empty()) reason = WhyNotBias(graph, graph.op(id), match);
  if (reason.empty()) reason = WhyNotFactors(match, factors);
  if (!reason.empty()) return reason;
  TENON_RETURN_IF_ERROR(SplitOff(graph, id));
  match = MatchWithReaders(graph, std::move(match), factors);
  const TensorId old = match.result;
  const std::string name = graph.tensor(old).name;
  TENON_ASSIGN_OR_RETURN(const OpId made, Insert(graph, match, factors));
  for (const OpId absorbed : match.absorbed) RecordFusion(graph, made, absorbed);
  const TensorId y = graph.op(made).outputs.front();
  BypassAndErase(graph, graph.tensor(old).producer, y);
  graph.RenameTensor(y, name);
  return std::string();
}

bool MakeWeightsSymmetric(Graph& graph, OpId id) {
  const Op& op = graph.op(id);
  const TensorId weights = op.inputs[GemmInput::kWeights];
  const TensorId zero_points = op.InputOrNone(QuantizedGemmInput::kWeightsZeroPoint);
  const Tensor& w = graph.tensor(weights);
  if (zero_points == kNone || w.dtype != DType::kU8 || !w.IsConstant()) return false;
  const Tensor& zero_point = graph.tensor(zero_points);
  if (!zero_point.IsConstant()) return false;
  const std::vector<double> values = ReadElements(zero_point);
  const auto central = [](double value) { return value == 128.0; };
  if (!std::all_of(values.begin(), values.end(), central)) return false;
  std::vector<std::byte> bytes = *w.constant;
  for (std::byte& byte : bytes) byte ^= std::byte{0x80};
  const TensorId made = graph.AddConstant(w.name + ".i8", DType::kI8, w.shape, std::move(bytes));
  graph.MutableTensor(made).layout = w.layout;
  std::vector<TensorId> inputs = op.inputs;
  inputs[GemmInput::kWeights] = made;
  inputs[QuantizedGemmInput::kWeightsZeroPoint] = kNone;
  while (inputs.back() == kNone) inputs.pop_back();
  graph.MutableOp(id).inputs = inputs;
  for (const TensorId old : {weights, zero_points}) {
    if (!graph.IsRead(old)) graph.EraseTensor(old);
  }
  return true;
}

}  // namespace tenon::converter
