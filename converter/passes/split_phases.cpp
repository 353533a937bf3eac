#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "converter/ir/elements.hpp"
#include "converter/ir/rewrite.hpp"
#include "converter/ir/shapes.hpp"
#include "converter/passes/image_moves.hpp"
#include "converter/passes/passes.hpp"

namespace tenon::converter {
namespace {

/// Fewer outputs of a phase leave too many lanes of a vector empty.
constexpr int32_t kVector = 8;
/// Less work is saved than what further ops cost.
constexpr int64_t kLeastSaved = 40'000;
constexpr double kLeastGain = 1.08;

/// A convolution whose channels are phases of an image's rows and columns, what puts these
/// together, and what is cut out of the result.
struct Phases {
  OpId conv = kNone;
  ImageMove move;
  OpId cut = kNone;  ///< none: kNone
  int32_t strides[2] = {1, 1};
  int32_t begins[2] = {0, 0};  ///< of what is cut out, in rows and columns
  int32_t sizes[2] = {0, 0};
  int32_t outputs = 0;            ///< of one phase
  std::vector<int32_t> channels;  ///< by phase (row by row) and output: the convolution's channel
  bool depthwise = false;
};

/// One phase along rows or columns.
struct Side {
  int32_t first_tap = 0;
  int32_t taps = 0;
  int32_t before = 0;  ///< padding
  int32_t after = 0;
};

bool IsPlain(const ConvAttributes& conv) {
  return conv.strides[0] == 1 && conv.strides[1] == 1 && conv.dilations[0] == 1 &&
         conv.dilations[1] == 1;
}

bool HasConstants(const Graph& graph, const Op& conv) {
  const TensorId bias = conv.InputOrNone(ConvInput::kBias);
  return IsConstantF32(graph, conv.inputs[ConvInput::kWeights]) &&
         (bias == kNone || IsConstantF32(graph, bias)) &&
         conv.InputOrNone(ConvInput::kResidual) == kNone &&
         conv.InputOrNone(ConvInput::kXMean) == kNone &&
         conv.InputOrNone(ConvInput::kWeightsScale) == kNone;
}

/// The parts of x, and of y, that are not one element.
std::vector<int32_t> LargeParts(const ImageMove& move, const std::vector<int32_t>& parts) {
  std::vector<int32_t> large;
  std::copy_if(parts.begin(), parts.end(), std::back_inserter(large),
               [&](int32_t part) { return move.parts[part] != 1; });
  return large;
}

/// Returns whether the dimension of y holds the pixels of x along the same dimension, and behind
/// them the phase that `stride` tells.
bool HoldsPhases(const ImageMove& move, int32_t axis, int32_t& stride) {
  const std::vector<int32_t> x = move.PartsOfInput({axis});
  std::vector<int32_t> y = move.PartsOfOutput({axis});
  const std::vector<int32_t> pixels = LargeParts(move, x);
  y = LargeParts(move, y);
  stride = 1;
  if (y == pixels) return true;
  if (y.empty() || !std::equal(pixels.begin(), pixels.end(), y.begin(), y.end() - 1)) return false;
  const int32_t phase = y.back();
  stride = move.parts[phase];
  return phase >= move.x_runs[1] && phase < move.x_runs[2];
}

/// The part of x's channels that is the phase along this dimension of y; kNone if there is none.
int32_t PhasePart(const ImageMove& move, int32_t axis) {
  const std::vector<int32_t> parts = LargeParts(move, move.PartsOfOutput({axis}));
  const bool has_phase =
      !parts.empty() && parts.back() >= move.x_runs[1] && parts.back() < move.x_runs[2];
  return has_phase ? parts.back() : kNone;
}

/// Fills in the channels of the phases: what of a channel's number is no phase is its output.
void FindChannels(Phases& phases) {
  const ImageMove& move = phases.move;
  const int32_t rows = PhasePart(move, 2);
  const int32_t columns = PhasePart(move, 3);
  const int32_t count = phases.strides[0] * phases.strides[1] * phases.outputs;
  phases.channels.resize(static_cast<size_t>(count));
  // Outputs are numbered as they lie in y, which may hold their parts in any order.
  std::vector<int32_t> output_strides(static_cast<size_t>(move.parts.rank), 0);
  const std::vector<int32_t> of_outputs = move.PartsOfOutput({1});
  int32_t stride = 1;
  for (size_t i = of_outputs.size(); i-- > 0;) {
    output_strides[static_cast<size_t>(of_outputs[i])] = stride;
    stride *= move.parts[of_outputs[i]];
  }
  for (int32_t channel = 0; channel < count; ++channel) {
    int32_t rest = channel;
    int32_t output = 0;
    int32_t phase = 0;
    for (int32_t part = move.x_runs[2] - 1; part >= move.x_runs[1]; --part) {
      const int32_t at = rest % move.parts[part];
      rest /= move.parts[part];
      if (part == rows) {
        phase += at * phases.strides[1];
      } else if (part == columns) {
        phase += at;
      } else {
        output += at * output_strides[static_cast<size_t>(part)];
      }
    }
    phases.channels[static_cast<size_t>(phase * phases.outputs + output)] = channel;
  }
}

/// Returns whether the convolution has one group, or one for each channel of x and of y in the
/// same order.
bool HasGroups(const Graph& graph, Phases& phases) {
  const Op& conv = graph.op(phases.conv);
  const int32_t groups = conv.attributes.As<ConvAttributes>().group;
  if (groups == 1) return true;
  phases.depthwise = true;
  if (groups != graph.tensor(conv.inputs[ConvInput::kX]).shape[1]) return false;
  if (groups != phases.outputs) return false;
  const auto each = static_cast<int32_t>(phases.channels.size()) / groups;
  for (size_t i = 0; i < phases.channels.size(); ++i) {
    if (phases.channels[i] / each != static_cast<int32_t>(i) % phases.outputs) return false;
  }
  return true;
}

std::optional<Phases> Find(const Graph& graph, OpId last) {
  auto move = FindImageMove(graph, last);
  if (!move.has_value()) return std::nullopt;
  Phases phases;
  phases.conv = ProducerOfKind(graph, move->x, OpKind::kConv);
  if (phases.conv == kNone || graph.OnlyConsumer(move->x) != move->first) return std::nullopt;
  const Op& conv = graph.op(phases.conv);
  if (!HasConstants(graph, conv) || !IsPlain(conv.attributes.As<ConvAttributes>())) {
    return std::nullopt;
  }
  const TensorId y = graph.op(last).outputs[0];
  const Shape& shape = graph.tensor(y).shape;
  if (shape.rank != 4) return std::nullopt;
  if (LargeParts(*move, move->PartsOfOutput({0})) != LargeParts(*move, move->PartsOfInput({0}))) {
    return std::nullopt;
  }
  if (!HoldsPhases(*move, 2, phases.strides[0]) || !HoldsPhases(*move, 3, phases.strides[1])) {
    return std::nullopt;
  }
  phases.outputs = shape[1];
  phases.sizes[0] = shape[2];
  phases.sizes[1] = shape[3];
  const OpId reader = graph.OnlyConsumer(y);
  if (reader != kNone && graph.op(reader).kind == OpKind::kSlice) {
    const auto slice = graph.op(reader).attributes.As<SliceAttributes>();
    const bool cuts_image = slice.begins[0] == 0 && slice.begins[1] == 0 &&
                            slice.sizes[0] == shape[0] && slice.sizes[1] == shape[1] &&
                            slice.steps[2] == 1 && slice.steps[3] == 1;
    if (cuts_image) {
      phases.cut = reader;
      for (int i = 0; i < 2; ++i) {
        phases.begins[i] = slice.begins[2 + i];
        phases.sizes[i] = slice.sizes[2 + i];
      }
    }
  }
  phases.move = std::move(*move);
  FindChannels(phases);
  if (!HasGroups(graph, phases)) return std::nullopt;
  return phases;
}

/// How many outputs each phase has along rows (0) or columns (1).
int32_t LengthOf(const Phases& phases, int side) {
  return (phases.sizes[side] + phases.strides[side] - 1) / phases.strides[side];
}

/// Splits the convolution of found phases.
class Splitter {
 public:
  Splitter(Graph& graph, const Phases& phases)
      : graph_(graph),
        phases_(phases),
        weights_(graph.tensor(graph.op(phases.conv).inputs[ConvInput::kWeights])),
        shape_(weights_.shape),
        values_(ReadElements(weights_)) {}

  /// Returns whether splitting saves enough.
  bool Plan() {
    const int32_t count = phases_.strides[0] * phases_.strides[1];
    if (count < 2 || phases_.outputs % kVector != 0) return false;
    for (int32_t i = 0; i < count; ++i) {
      Side sides[2];
      if (!PlanSide(i, 0, sides[0]) || !PlanSide(i, 1, sides[1])) return false;
      sides_.emplace_back(sides[0], sides[1]);
    }
    const Shape& x = graph_.tensor(phases_.move.x).shape;
    const int64_t each = int64_t{x[0]} * shape_[1] * phases_.outputs;
    const int64_t before = each * count * x[2] * x[3] * shape_[2] * shape_[3];
    int64_t after = 0;
    for (const auto& [rows, columns] : sides_) {
      after += each * LengthOf(phases_, 0) * LengthOf(phases_, 1) * rows.taps * columns.taps;
    }
    if (phases_.depthwise) return after > kLeastSaved;
    return before - after > kLeastSaved * count &&
           static_cast<double>(before) > kLeastGain * static_cast<double>(after);
  }

  Status Run() {
    std::vector<TensorId> parts;
    for (size_t i = 0; i < sides_.size(); ++i) {
      TENON_ASSIGN_OR_RETURN(const TensorId part, AddPhase(static_cast<int32_t>(i)));
      parts.push_back(part);
    }
    const Op& conv = graph_.op(phases_.conv);
    ConcatAttributes concat;
    concat.axis = 1;
    const std::string name = conv.name + ".phases";
    TENON_ASSIGN_OR_RETURN(const OpId joined,
                           graph_.InsertOp(phases_.move.first, OpKind::kConcat, name, parts,
                                           Attributes(concat), {name}));
    return Move(graph_.op(joined).outputs[0]);
  }

 private:
  /// The phase of y's rows (0) or columns (1) that phase `index` of what is cut out becomes.
  [[nodiscard]] int32_t Which(int32_t index, int side) const {
    return side == 0 ? index / phases_.strides[1] : index % phases_.strides[1];
  }
  [[nodiscard]] int32_t PhaseOf(int32_t index, int side) const {
    return (Which(index, side) + phases_.begins[side]) % phases_.strides[side];
  }
  /// The convolution's channel that is output `output` of phase `index` of what is cut out.
  [[nodiscard]] size_t ChannelOf(int32_t index, int32_t output) const {
    const int32_t phase = PhaseOf(index, 0) * phases_.strides[1] + PhaseOf(index, 1);
    return static_cast<size_t>(
        phases_.channels[static_cast<size_t>(phase * phases_.outputs + output)]);
  }
  /// The weights of all taps that channel reads of input `input`.
  [[nodiscard]] const double* KernelOf(size_t channel, int32_t input) const {
    const auto taps = static_cast<size_t>(shape_[2]) * static_cast<size_t>(shape_[3]);
    const auto inputs = static_cast<size_t>(shape_[1]);
    return values_.data() + (channel * inputs + static_cast<size_t>(input)) * taps;
  }

  /// Returns whether any weight of the phase's tap, along rows (0) or columns (1), is not zero.
  [[nodiscard]] bool IsUsed(int32_t index, int side, int32_t tap) const {
    const int32_t height = shape_[2];
    const int32_t width = shape_[3];
    for (int32_t k = 0; k < phases_.outputs * shape_[1]; ++k) {
      const double* kernel = KernelOf(ChannelOf(index, k / shape_[1]), k % shape_[1]);
      for (int32_t i = 0; i < (side == 0 ? width : height); ++i) {
        if (kernel[side == 0 ? tap * width + i : i * width + tap] != 0.0) return true;
      }
    }
    return false;
  }

  /// Finds the taps that a phase has, and the padding with which they give the outputs wanted.
  bool PlanSide(int32_t index, int side, Side& result) const {
    int32_t end = shape_[2 + side];
    while (end > 1 && !IsUsed(index, side, end - 1)) --end;
    while (result.first_tap < end - 1 && !IsUsed(index, side, result.first_tap)) {
      ++result.first_tap;
    }
    result.taps = end - result.first_tap;
    const int32_t skipped = (Which(index, side) + phases_.begins[side]) / phases_.strides[side];
    const Op& conv = graph_.op(phases_.conv);
    const int32_t input = graph_.tensor(conv.inputs[ConvInput::kX]).shape[2 + side];
    result.before = conv.attributes.As<ConvAttributes>().pads[side] - skipped - result.first_tap;
    result.after = LengthOf(phases_, side) + result.taps - 1 - input - result.before;
    return result.before >= 0 && result.after >= 0;
  }

  Result<TensorId> AddPhase(int32_t index) {
    const auto& [rows, columns] = sides_[static_cast<size_t>(index)];
    const Op& conv = graph_.op(phases_.conv);
    const std::string name = fmt::format("{}.phase{}", conv.name, index);
    auto attributes = conv.attributes.As<ConvAttributes>();
    attributes.pads[0] = rows.before;
    attributes.pads[1] = columns.before;
    attributes.pads[2] = rows.after;
    attributes.pads[3] = columns.after;
    std::vector<TensorId> inputs = {conv.inputs[ConvInput::kX], Weights(index, rows, columns)};
    if (conv.InputOrNone(ConvInput::kBias) != kNone) inputs.push_back(Bias(index));
    TENON_ASSIGN_OR_RETURN(const OpId phase,
                           graph_.InsertOp(phases_.move.first, OpKind::kConv, name, inputs,
                                           Attributes(attributes), {name}));
    RecordFusion(graph_, phase, phases_.conv);
    return graph_.op(phase).outputs[0];
  }

  TensorId Weights(int32_t index, const Side& rows, const Side& columns) {
    std::vector<double> values;
    for (int32_t k = 0; k < phases_.outputs * shape_[1]; ++k) {
      const double* kernel = KernelOf(ChannelOf(index, k / shape_[1]), k % shape_[1]);
      for (int32_t row = 0; row < rows.taps; ++row) {
        const double* from = kernel + (rows.first_tap + row) * shape_[3] + columns.first_tap;
        values.insert(values.end(), from, from + columns.taps);
      }
    }
    Shape shape = shape_;
    shape[0] = phases_.outputs;
    shape[2] = rows.taps;
    shape[3] = columns.taps;
    return graph_.AddConstant(fmt::format("{}.phase{}", weights_.name, index), DType::kF32, shape,
                              WriteElements(DType::kF32, values));
  }

  TensorId Bias(int32_t index) {
    const Tensor& bias = graph_.tensor(graph_.op(phases_.conv).inputs[ConvInput::kBias]);
    const std::vector<double> values = ReadElements(bias);
    std::vector<double> each;
    for (int32_t m = 0; m < phases_.outputs; ++m) each.push_back(values[ChannelOf(index, m)]);
    Shape shape = bias.shape;
    shape[0] = phases_.outputs;
    return graph_.AddConstant(fmt::format("{}.phase{}", bias.name, index), DType::kF32, shape,
                              WriteElements(DType::kF32, each));
  }

  /// Puts the phases, joined as channels, together: without a remainder they are what was cut out.
  Status Move(TensorId joined) {
    const Shape shape = graph_.tensor(joined).shape;
    const int32_t rows = phases_.strides[0];
    const int32_t columns = phases_.strides[1];
    ReshapeAttributes cut;
    cut.rank = 6;
    const int32_t parts[] = {shape[0], rows, columns, phases_.outputs, shape[2], shape[3]};
    std::copy(std::begin(parts), std::end(parts), cut.dims);
    TransposeAttributes order;
    order.rank = 6;
    const int32_t places[] = {0, 3, 4, 1, 5, 2};
    std::copy(std::begin(places), std::end(places), order.permutation);
    TENON_ASSIGN_OR_RETURN(TensorId y, Add(OpKind::kReshape, "1", joined, Attributes(cut)));
    TENON_ASSIGN_OR_RETURN(y, Add(OpKind::kTranspose, "2", y, Attributes(order)));
    Shape whole;
    whole.rank = 4;
    const int32_t dims[] = {shape[0], phases_.outputs, shape[2] * rows, shape[3] * columns};
    std::copy(std::begin(dims), std::end(dims), whole.dims);
    TENON_ASSIGN_OR_RETURN(y, Add(OpKind::kReshape, "3", y, Attributes(ReshapeTo(whole))));
    const OpId old = phases_.cut != kNone ? phases_.cut : phases_.move.last;
    if (graph_.tensor(graph_.op(old).outputs[0]).shape != whole) {
      SliceAttributes slice = WholeSlice(whole);
      slice.sizes[2] = phases_.sizes[0];
      slice.sizes[3] = phases_.sizes[1];
      TENON_ASSIGN_OR_RETURN(y, Add(OpKind::kSlice, "4", y, Attributes(slice)));
    }
    AbsorbResult(graph_, graph_.tensor(y).producer, old);
    return {};
  }

  Result<TensorId> Add(OpKind kind, const char* suffix, TensorId x, const Attributes& attributes) {
    const OpId old = phases_.cut != kNone ? phases_.cut : phases_.move.last;
    const std::string name = fmt::format("{}.joined{}", graph_.op(old).name, suffix);
    TENON_ASSIGN_OR_RETURN(const OpId op,
                           graph_.InsertOp(old, kind, name, {x}, attributes, {name}));
    return graph_.op(op).outputs[0];
  }

  Graph& graph_;
  const Phases& phases_;
  const Tensor weights_;
  const Shape shape_;
  const std::vector<double> values_;
  std::vector<std::pair<Side, Side>> sides_;
};

}  // namespace

Status SplitPhases(Graph& graph, PassContext& context) {
  if (!context.has_fast_kernel) return {};
  for (const OpId id : graph.OpOrder()) {
    if (!graph.IsOp(id)) continue;
    const auto phases = Find(graph, id);
    if (!phases.has_value() || !context.has_fast_kernel(graph, graph.op(phases->conv))) continue;
    Splitter splitter(graph, *phases);
    if (!splitter.Plan()) continue;
    TENON_RETURN_IF_ERROR(splitter.Run());
    ++context.report.changed;
  }
  return {};
}

}  // namespace tenon::converter
