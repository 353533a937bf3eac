#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "converter/ir/elements.hpp"
#include "converter/ir/rewrite.hpp"
#include "converter/ir/shapes.hpp"
#include "converter/passes/passes.hpp"

namespace tenon::converter {
namespace {

/// What an op computes, of which unary functions behind it may have been taken off already.
struct Value {
  TensorId id = kNone;
  bool without_activation = false;  ///< that of the binary op which makes it
};

/// Reads the graph backwards from a value. All functions give nothing where it is not made that
/// way.
class Reader {
 public:
  explicit Reader(const Graph& graph) : graph_(graph) {}

  /// The op that makes the value, behind reshapes.
  [[nodiscard]] const Op* OpOf(Value value) const {
    const TensorId id = BeforeReshapes(value.id);
    const OpId producer = graph_.tensor(id).producer;
    return producer == kNone ? nullptr : &graph_.op(producer);
  }

  [[nodiscard]] TensorId BeforeReshapes(TensorId id) const {
    while (true) {
      const OpId reshape = ProducerOfKind(graph_, id, OpKind::kReshape);
      if (reshape == kNone) return id;
      id = graph_.op(reshape).inputs[0];
    }
  }

  [[nodiscard]] bool Same(TensorId a, TensorId b) const {
    return BeforeReshapes(a) == BeforeReshapes(b);
  }

  /// What the function was applied to, as an op or as an activation.
  [[nodiscard]] std::optional<Value> Unary(Value value, const Activation& function) const {
    const Op* op = OpOf(value);
    if (op == nullptr || value.without_activation) return std::nullopt;
    if (op->kind == OpKind::kUnary) {
      const auto own = op->attributes.As<UnaryAttributes>();
      if (!Equal({own.function, own.a, own.b}, function)) return std::nullopt;
      return Value{op->inputs[0]};
    }
    if (op->kind != OpKind::kBinary || !Equal(GetActivation(*op), function)) return std::nullopt;
    return Value{value.id, true};
  }

  /// The operands of the binary op that makes the value.
  [[nodiscard]] const Op* Binary(Value value, BinaryFunction function) const {
    const Op* op = OpOf(value);
    if (op == nullptr || op->kind != OpKind::kBinary) return nullptr;
    const auto own = op->attributes.As<BinaryAttributes>();
    const bool plain =
        value.without_activation || own.activation.function == UnaryFunction::kIdentity;
    return plain && own.function == function ? op : nullptr;
  }

  [[nodiscard]] bool IsNumber(TensorId id, double number) const {
    return ScalarValue(graph_, id) == std::optional(number);
  }

  /// What is brought to one side of 0, its bounds being `low` and `high`.
  [[nodiscard]] std::optional<Value> Bounded(Value value, float low, float high) const {
    if (const auto clipped = Unary(value, {UnaryFunction::kClip, low, high})) return clipped;
    if (low == 0.0F) {
      if (const auto relu = Unary(value, {UnaryFunction::kRelu})) return relu;
    }
    const auto function = low == 0.0F ? BinaryFunction::kMax : BinaryFunction::kMin;
    const Op* op = Binary(value, function);
    if (op == nullptr || !IsNumber(op->inputs[1], 0.0)) return std::nullopt;
    return Value{op->inputs[0]};
  }

  /// True if the value is the least, or the largest, of all elements of x, and 0.
  [[nodiscard]] bool IsBoundOf(Value value, TensorId x, bool least) const {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const auto reduced = least ? Bounded(value, -kInfinity, 0.0F) : Bounded(value, 0.0F, kInfinity);
    if (!reduced) return false;
    const Op* op = OpOf(*reduced);
    if (op == nullptr || op->kind != OpKind::kReduce || reduced->without_activation) return false;
    const auto attributes = op->attributes.As<ReduceAttributes>();
    const int32_t all = (1 << graph_.tensor(op->inputs[0]).shape.rank) - 1;
    return attributes.function == (least ? ReduceFunction::kMin : ReduceFunction::kMax) &&
           attributes.axes_mask == all && Same(op->inputs[0], x);
  }

  /// True if the value is the scale that x gets from its range; `least` is then the range's.
  [[nodiscard]] bool IsScaleOf(TensorId scale, TensorId x) const {
    const Op* select = OpOf({scale});
    if (select == nullptr || select->kind != OpKind::kSelect) return false;
    const TensorId step = select->inputs[SelectInput::kY];
    const Op* flat = Binary({select->inputs[SelectInput::kCondition]}, BinaryFunction::kEqual);
    const Op* div = Binary({step}, BinaryFunction::kDiv);
    if (flat == nullptr || div == nullptr || !Same(flat->inputs[0], step) ||
        !IsNumber(flat->inputs[1], 0.0) || !IsNumber(select->inputs[SelectInput::kX], 1.0) ||
        !IsNumber(div->inputs[1], 255.0)) {
      return false;
    }
    const Op* range = Binary({div->inputs[0]}, BinaryFunction::kSub);
    return range != nullptr && IsBoundOf({range->inputs[0]}, x, /*least=*/false) &&
           IsBoundOf({range->inputs[1]}, x, /*least=*/true);
  }

  /// True if the value is the zero point (u8) that goes with it.
  [[nodiscard]] bool IsZeroPointOf(TensorId zero_point, TensorId x, TensorId scale) const {
    const Op* cast = OpOf({zero_point});
    if (cast == nullptr || cast->kind != OpKind::kCast ||
        cast->attributes.As<CastAttributes>().to != static_cast<int32_t>(DType::kU8)) {
      return false;
    }
    const auto rounded = Unary({cast->inputs[0]}, {UnaryFunction::kRound});
    const auto clipped =
        rounded ? Unary(*rounded, {UnaryFunction::kClip, 0.0F, 255.0F}) : std::nullopt;
    const auto negated = clipped ? Unary(*clipped, {UnaryFunction::kNeg}) : std::nullopt;
    const Op* below = negated ? Binary(*negated, BinaryFunction::kDiv) : nullptr;
    return below != nullptr && IsBoundOf({below->inputs[0]}, x, /*least=*/true) &&
           Same(below->inputs[1], scale);
  }

 private:
  static bool Equal(const Activation& a, const Activation& b) {
    return a.function == b.function && a.a == b.a && a.b == b.b;
  }

  const Graph& graph_;
};

/// A product and what makes floats of its sums.
struct ProductMatch {
  TensorId x = kNone;
  TensorId weights = kNone;
  TensorId zero_point = kNone;  ///< of the weights
  TensorId scale = kNone;       ///< of the weights
  TensorId bias = kNone;
  OpId last = kNone;
  Activation activation;  ///< of the last op
};

/// The other operand of a binary op that one tensor is an operand of.
TensorId Other(const Op& op, TensorId operand) {
  return op.inputs[0] == operand ? op.inputs[1] : op.inputs[0];
}

/// True if the constant holds the sums of the columns less their zero points.
bool AreColumnSums(const Graph& graph, TensorId sums, const ProductMatch& match) {
  const Tensor& given = graph.tensor(sums);
  const Shape& shape = graph.tensor(match.weights).shape;
  if (!given.IsConstant() || given.shape.Elements() != shape[1]) return false;
  const std::vector<double> weights = ReadElements(graph.tensor(match.weights));
  std::vector<double> zeros = {0.0};
  if (match.zero_point != kNone) zeros = ReadElements(graph.tensor(match.zero_point));
  const auto columns = static_cast<size_t>(shape[1]);
  std::vector<double> wanted(columns, 0.0);
  for (size_t i = 0; i < weights.size(); ++i) {
    const size_t column = i % columns;
    wanted[column] += weights[i] - zeros[zeros.size() == 1 ? 0 : column];
  }
  return wanted == ReadElements(given);
}

class Matcher {
 public:
  explicit Matcher(const Graph& graph) : graph_(graph), reader_(graph) {}

  std::optional<ProductMatch> Find(OpId product) const {
    ProductMatch match;
    TensorId scale = kNone;
    TensorId zero_point = kNone;
    if (!ReadProduct(graph_.op(product), match, scale, zero_point)) return std::nullopt;
    const TensorId sums = LessZeroPoint(graph_.op(product).outputs[0], match, zero_point);
    if (sums == kNone || !ReadScale(sums, scale, match)) return std::nullopt;
    ReadBias(match);
    return match;
  }

 private:
  /// Reads the product of bytes that get their scale and zero point from the range of x.
  bool ReadProduct(const Op& op, ProductMatch& match, TensorId& scale, TensorId& zero_point) const {
    using In = QuantizedGemmInput;
    if (op.kind != OpKind::kQuantizedMatMul) return false;
    const auto attributes = op.attributes.As<QuantizedMatMulAttributes>();
    const bool plain = attributes.output.to == static_cast<int32_t>(DType::kI32) &&
                       attributes.matmul.transpose_a == 0 && attributes.matmul.transpose_b == 0;
    constexpr size_t kAbsent[] = {In::kBias, In::kMultiplier, In::kShift, In::kXZeroPoint};
    for (const size_t absent : kAbsent) {
      if (op.InputOrNone(absent) != kNone) return false;
    }
    match.weights = op.inputs[In::kWeights];
    match.zero_point = op.InputOrNone(In::kWeightsZeroPoint);
    const Tensor& weights = graph_.tensor(match.weights);
    if (!plain || !weights.IsConstant() || weights.shape.rank != 2) return false;
    if (match.zero_point != kNone && !graph_.tensor(match.zero_point).IsConstant()) return false;
    const OpId quantize = ProducerOfKind(graph_, op.inputs[In::kX], OpKind::kQuantize);
    if (quantize == kNone || graph_.op(quantize).inputs.size() != 3) return false;
    const auto how = graph_.op(quantize).attributes.As<QuantizeAttributes>();
    match.x = graph_.op(quantize).inputs[QuantizeInput::kX];
    scale = graph_.op(quantize).inputs[QuantizeInput::kScale];
    zero_point = graph_.op(quantize).inputs[QuantizeInput::kZeroPoint];
    return how.to == static_cast<int32_t>(DType::kU8) && how.rounding == Rounding::kHalfEven &&
           graph_.tensor(match.x).shape.rank >= 2 && reader_.IsScaleOf(scale, match.x) &&
           reader_.IsZeroPointOf(zero_point, match.x, scale);
  }

  /// The only op that reads the tensor, if it is binary and of this function.
  const Op* ReaderOf(TensorId id, BinaryFunction function) const {
    const OpId reader = graph_.OnlyConsumer(id);
    if (reader == kNone || graph_.op(reader).kind != OpKind::kBinary) return nullptr;
    const Op& op = graph_.op(reader);
    return op.attributes.As<BinaryAttributes>().function == function ? &op : nullptr;
  }

  bool IsPlain(const Op& op) const {
    return GetActivation(op).function == UnaryFunction::kIdentity;
  }

  /// The product's sums, from which what the zero point of x adds to them is taken; or kNone.
  TensorId LessZeroPoint(TensorId sums, const ProductMatch& match, TensorId zero_point) const {
    const Op* less = ReaderOf(sums, BinaryFunction::kSub);
    if (less == nullptr || less->inputs[0] != sums || !IsPlain(*less)) return kNone;
    const Op* shift = reader_.Binary({less->inputs[1]}, BinaryFunction::kMul);
    if (shift == nullptr) return kNone;
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const Op* cast = reader_.OpOf({shift->inputs[i]});
      if (cast == nullptr || cast->kind != OpKind::kCast) continue;
      const bool is_right =
          cast->attributes.As<CastAttributes>().to == static_cast<int32_t>(DType::kI32) &&
          reader_.Same(cast->inputs[0], zero_point) &&
          AreColumnSums(graph_, shift->inputs[1 - i], match) &&
          graph_.tensor(less->outputs[0]).shape == graph_.tensor(sums).shape;
      return is_right ? less->outputs[0] : kNone;
    }
    return kNone;
  }

  /// Reads the product of the sums, as floats, and both scales.
  bool ReadScale(TensorId sums, TensorId x_scale, ProductMatch& match) const {
    const OpId cast = graph_.OnlyConsumer(sums);
    if (cast == kNone || graph_.op(cast).kind != OpKind::kCast) return false;
    const TensorId floats = graph_.op(cast).outputs[0];
    const Op* scaled = ReaderOf(floats, BinaryFunction::kMul);
    if (graph_.tensor(floats).dtype != DType::kF32 || scaled == nullptr) return false;
    const Op* scale = reader_.Binary({Other(*scaled, floats)}, BinaryFunction::kMul);
    if (scale == nullptr || graph_.tensor(scaled->outputs[0]).shape != graph_.tensor(sums).shape) {
      return false;
    }
    for (const size_t i : {size_t{0}, size_t{1}}) {
      if (!reader_.Same(scale->inputs[i], x_scale)) continue;
      match.scale = scale->inputs[1 - i];
      match.last = graph_.tensor(scaled->outputs[0]).producer;
      match.activation = GetActivation(*scaled);
      return HasOneOrEach(match.scale, graph_.tensor(match.weights).shape[1]);
    }
    return false;
  }

  /// True for a constant of one element, or of as many as there are columns, along the last axis.
  bool HasOneOrEach(TensorId id, int32_t columns) const {
    const Tensor& tensor = graph_.tensor(id);
    if (!tensor.IsConstant() || tensor.dtype != DType::kF32) return false;
    const int64_t elements = tensor.shape.Elements();
    const int32_t rank = tensor.shape.rank;
    return elements == 1 || (elements == columns && tensor.shape[rank - 1] == columns);
  }

  /// Takes the sum behind it, if it adds a row or an element to each.
  void ReadBias(ProductMatch& match) const {
    const TensorId scaled = graph_.op(match.last).outputs[0];
    const Op* sum = ReaderOf(scaled, BinaryFunction::kAdd);
    if (sum == nullptr || match.activation.function != UnaryFunction::kIdentity) return;
    const TensorId bias = Other(*sum, scaled);
    const Shape& y = graph_.tensor(scaled).shape;
    const Shape& shape = graph_.tensor(bias).shape;
    const int32_t columns = y[y.rank - 1];
    const bool is_row = shape.rank > 0 && shape.Elements() == columns &&
                        shape[shape.rank - 1] == columns && shape.rank <= y.rank;
    if (bias == scaled || graph_.tensor(sum->outputs[0]).shape != y || !(is_row || shape == y)) {
      return;
    }
    match.bias = bias;
    match.last = graph_.tensor(sum->outputs[0]).producer;
    match.activation = GetActivation(*sum);
  }

  const Graph& graph_;
  Reader reader_;
};

/// Puts the op in the place of the match's last one. Returns whether a fast kernel runs it.
Result<bool> Replace(Graph& graph, const ProductMatch& match, PassContext& context) {
  TensorId scale = match.scale;
  const Tensor& given = graph.tensor(scale);
  const Shape vector({static_cast<int32_t>(given.shape.Elements())});
  const bool is_vector = given.shape == vector;
  if (!is_vector)
    scale = graph.AddConstant(given.name + ".vector", DType::kF32, vector, given.constant);
  std::vector<TensorId> inputs = {match.x, match.weights, match.bias, scale};
  if (match.zero_point != kNone) inputs.push_back(match.zero_point);
  const std::string name = graph.op(match.last).name;
  TENON_ASSIGN_OR_RETURN(const OpId product, graph.InsertOp(match.last, OpKind::kDynamicMatMul,
                                                            name, inputs, Attributes()));
  if (!context.has_fast_kernel || !context.has_fast_kernel(graph, graph.op(product))) {
    Decline(graph, product, "no fast kernel would run it", context.report);
    graph.EraseOp(product);
    if (!is_vector) graph.EraseTensor(scale);
    return false;
  }
  const TensorId y = graph.op(product).outputs[0];
  const std::vector<TensorId> read = graph.op(match.last).inputs;
  if (match.activation.function == UnaryFunction::kIdentity) {
    AbsorbResult(graph, product, match.last);
  } else {
    Op& last = graph.MutableOp(match.last);
    last.kind = OpKind::kUnary;
    last.attributes = Attributes(
        UnaryAttributes{match.activation.function, match.activation.a, match.activation.b});
    last.inputs = {y};
  }
  for (const TensorId input : read) {
    const OpId producer = graph.IsTensor(input) ? graph.tensor(input).producer : kNone;
    if (producer != kNone) EraseIfUnread(graph, producer);
  }
  return true;
}

}  // namespace

Status FuseDynamicProducts(Graph& graph, PassContext& context) {
  for (const OpId id : graph.OpOrder()) {
    if (!graph.IsOp(id)) continue;
    const std::optional<ProductMatch> match = Matcher(graph).Find(id);
    if (!match) continue;
    TENON_ASSIGN_OR_RETURN(const bool replaced, Replace(graph, *match, context));
    if (replaced) ++context.report.changed;
  }
  return {};
}

}  // namespace tenon::converter
