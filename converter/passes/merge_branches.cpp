#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "converter/ir/elements.hpp"
#include "converter/ir/rewrite.hpp"
#include "converter/passes/channel_constants.hpp"
#include "converter/passes/passes.hpp"

namespace tenon::converter {
namespace {

constexpr int32_t kImageChannels = 1;  // the axis of x's and y's channels

/// One operand of a sum, as a linear function of x: a convolution, or gain * x + shift per channel.
struct Branch {
  TensorId x = kNone;
  OpId last = kNone;
  OpId conv = kNone;
  std::vector<double> gain;
  std::vector<double> shift;
};

/// Why the convolution is no linear function with constants of f32, or an empty text.
std::string WhyNotLinear(const Graph& graph, OpId conv) {
  const Op& op = graph.op(conv);
  const TensorId bias = op.InputOrNone(ConvInput::kBias);
  if (op.InputOrNone(ConvInput::kResidual) != kNone) return "a conv adds a residual already";
  if (GetActivation(op).function != UnaryFunction::kIdentity) {
    return "a conv's activation comes before the addition";
  }
  if (graph.tensor(op.outputs.front()).dtype != DType::kF32 ||
      !IsConstantF32(graph, op.inputs[ConvInput::kWeights]) ||
      (bias != kNone && !IsConstantF32(graph, bias))) {
    return "a conv's weights or bias are no f32 constants";
  }
  return "";
}

/// Takes y = f(x, constant) for gain * y + shift, so that those are of x. False if it is no such
/// function of each channel.
bool TakeBefore(const Graph& graph, OpId id, Branch& branch) {
  const Op& op = graph.op(id);
  const auto& attributes = op.attributes.As<BinaryAttributes>();
  if (attributes.activation.function != UnaryFunction::kIdentity) return false;
  const size_t constant = IsConstantF32(graph, op.inputs[1]) ? 1 : 0;
  const Tensor& y = graph.tensor(op.outputs.front());
  if (!IsConstantF32(graph, op.inputs[constant])) return false;
  if (graph.tensor(op.inputs[1 - constant]).shape != y.shape) return false;
  const auto values = PerChannel(graph.tensor(op.inputs[constant]), y.shape, kImageChannels);
  if (!values.has_value()) return false;
  for (size_t c = 0; c < values->size(); ++c) {
    switch (attributes.function) {
      case BinaryFunction::kMul:
        branch.gain[c] *= (*values)[c];
        break;
      case BinaryFunction::kAdd:
        branch.shift[c] += branch.gain[c] * (*values)[c];
        break;
      default:
        return false;
    }
  }
  branch.x = op.inputs[1 - constant];
  return true;
}

/// Returns what `value`, an operand of `sum` alone, is a function of.
Branch BranchTo(const Graph& graph, TensorId value, OpId sum) {
  Branch branch;
  if (graph.OnlyConsumer(value) != sum) return branch;
  branch.last = graph.tensor(value).producer;
  if (branch.last == kNone) return branch;
  if (graph.op(branch.last).kind == OpKind::kConv) {
    branch.conv = branch.last;
    branch.x = graph.op(branch.conv).inputs[ConvInput::kX];
    return branch;
  }
  const Tensor& y = graph.tensor(value);
  if (y.shape.rank != 4 || y.dtype != DType::kF32) return branch;
  const auto channels = static_cast<size_t>(y.shape[kImageChannels]);
  branch.gain.assign(channels, 1.0);
  branch.shift.assign(channels, 0.0);
  OpId reader = sum;
  for (TensorId at = value; graph.OnlyConsumer(at) == reader; at = branch.x) {
    reader = ProducerOfKind(graph, at, OpKind::kBinary);
    if (reader == kNone || !TakeBefore(graph, reader, branch)) break;
  }
  return branch;
}

/// A convolution's weights that take in others.
class Sum {
 public:
  Sum(const Graph& graph, OpId conv) : attributes_(graph.op(conv).attributes.As<ConvAttributes>()) {
    const Op& op = graph.op(conv);
    const Tensor& w = graph.tensor(op.inputs[ConvInput::kWeights]);
    const TensorId bias = op.InputOrNone(ConvInput::kBias);
    shape_ = w.shape;
    weights_ = ReadElements(w);
    bias_.resize(static_cast<size_t>(shape_[0]));
    if (bias != kNone) bias_ = ReadElements(graph.tensor(bias));
  }

  /// Adds another convolution. False if this one's weights have no place for one of the other's.
  bool Take(const Graph& graph, OpId conv) {
    const Sum other(graph, conv);
    const int32_t group = attributes_.group;
    const int32_t others = other.attributes_.group;
    if (shape_[0] != other.shape_[0] || others % group != 0) return false;
    for (int axis = 0; axis < 2; ++axis) {
      if (attributes_.strides[axis] != other.attributes_.strides[axis]) return false;
    }
    for (int32_t m = 0; m < shape_[0]; ++m) {
      const int32_t first = m / (shape_[0] / others) * other.shape_[1];
      const int32_t own_first = m / (shape_[0] / group) * shape_[1];
      for (int32_t kh = 0; kh < other.shape_[2]; ++kh) {
        for (int32_t kw = 0; kw < other.shape_[3]; ++kw) {
          const int32_t row = TapAt(0, other.PlaceOf(0, kh));
          const int32_t column = TapAt(1, other.PlaceOf(1, kw));
          if (row < 0 || column < 0) return false;
          for (int32_t k = 0; k < other.shape_[1]; ++k) {
            weights_[Index(m, first - own_first + k, row, column)] +=
                other.weights_[other.Index(m, k, kh, kw)];
          }
        }
      }
      bias_[static_cast<size_t>(m)] += other.bias_[static_cast<size_t>(m)];
    }
    return true;
  }

  /// Adds gain * x + shift, of an x with the shape of the result.
  bool Take(const std::vector<double>& gain, const std::vector<double>& shift) {
    const int32_t row = TapAt(0, 0);
    const int32_t column = TapAt(1, 0);
    if (row < 0 || column < 0 || shape_[0] != shape_[1] * attributes_.group) return false;
    if (attributes_.strides[0] != 1 || attributes_.strides[1] != 1) return false;
    for (int32_t m = 0; m < shape_[0]; ++m) {
      weights_[Index(m, m % shape_[1], row, column)] += gain[static_cast<size_t>(m)];
      bias_[static_cast<size_t>(m)] += shift[static_cast<size_t>(m)];
    }
    return true;
  }

  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] const std::vector<double>& weights() const { return weights_; }
  [[nodiscard]] const std::vector<double>& bias() const { return bias_; }

 private:
  /// Returns which input a tap reads, counted from the output's place.
  [[nodiscard]] int32_t PlaceOf(int axis, int32_t tap) const {
    return tap * attributes_.dilations[axis] - attributes_.pads[axis];
  }

  /// Returns the tap that reads there, or -1.
  [[nodiscard]] int32_t TapAt(int axis, int32_t place) const {
    const int32_t from_first = place + attributes_.pads[axis];
    if (from_first < 0 || from_first % attributes_.dilations[axis] != 0) return -1;
    const int32_t tap = from_first / attributes_.dilations[axis];
    return tap < shape_[2 + axis] ? tap : -1;
  }

  [[nodiscard]] size_t Index(int32_t m, int32_t k, int32_t row, int32_t column) const {
    return ((static_cast<size_t>(m) * static_cast<size_t>(shape_[1]) + static_cast<size_t>(k)) *
                static_cast<size_t>(shape_[2]) +
            static_cast<size_t>(row)) *
               static_cast<size_t>(shape_[3]) +
           static_cast<size_t>(column);
  }

  ConvAttributes attributes_;
  Shape shape_;
  std::vector<double> weights_;
  std::vector<double> bias_;
};

/// Lets `main` compute the sum, if it has room for the other branch.
bool TryTake(Graph& graph, OpId sum, const Branch& main, const Branch& other) {
  Sum made(graph, main.conv);
  const bool taken =
      other.conv != kNone ? made.Take(graph, other.conv) : made.Take(other.gain, other.shift);
  if (!taken) return false;
  const auto finite = [](double value) { return std::isfinite(value); };
  if (!std::all_of(made.weights().begin(), made.weights().end(), finite)) return false;
  const std::string name = graph.tensor(graph.op(main.conv).inputs[ConvInput::kWeights]).name;
  ReplaceConstant(graph, main.conv, ConvInput::kWeights, name, made.shape(), made.weights());
  ReplaceBias(graph, main.conv, made.bias());
  SetActivation(graph.MutableOp(main.conv), GetActivation(graph.op(sum)));
  RecordFusion(graph, main.conv, other.last);
  AbsorbResult(graph, main.conv, sum);
  EraseIfUnread(graph, other.last);
  return true;
}

std::string WhyNotOne(const Graph& graph, OpId sum, const Branch& branch) {
  if (branch.conv == kNone) return "";
  const Tensor& y = graph.tensor(graph.op(branch.conv).outputs.front());
  const Tensor& result = graph.tensor(graph.op(sum).outputs.front());
  if (result.shape != y.shape) return "the addition broadcasts";
  if (result.layout != y.layout) return "it changes the layout";
  return WhyNotLinear(graph, branch.conv);
}

std::string TryMerge(Graph& graph, OpId sum, const Branch (&branches)[2], bool in_bytes) {
  for (const Branch& branch : branches) {
    if (std::string reason = WhyNotOne(graph, sum, branch); !reason.empty()) return reason;
    if (branch.conv == kNone && in_bytes) {
      return "a weight far above the others would take their precision in 8 bits";
    }
  }
  for (int i = 0; i < 2; ++i) {
    if (branches[i].conv == kNone) continue;
    if (TryTake(graph, sum, branches[i], branches[1 - i])) return "";
  }
  return "neither branch's weights have a place for all of the other's";
}

}  // namespace

Status MergeBranches(Graph& graph, PassContext& context) {
  const WeightsForm form = context.weights_form;
  const bool in_bytes =
      form == WeightsForm::kInt8 || (form == WeightsForm::kModel && graph.weights == DType::kI8);
  for (const OpId id : graph.OpOrder()) {
    if (!graph.IsOp(id)) continue;
    const Op& op = graph.op(id);
    if (op.kind != OpKind::kBinary || op.inputs[0] == op.inputs[1]) continue;
    if (op.attributes.As<BinaryAttributes>().function != BinaryFunction::kAdd) continue;
    const Branch branches[2] = {BranchTo(graph, op.inputs[0], id),
                                BranchTo(graph, op.inputs[1], id)};
    if (branches[0].x == kNone || branches[0].x != branches[1].x) continue;
    if (branches[0].conv == kNone && branches[1].conv == kNone) continue;
    const std::string reason = TryMerge(graph, id, branches, in_bytes);
    if (reason.empty()) {
      ++context.report.changed;
    } else {
      Decline(graph, id, reason, context.report);
    }
  }
  return {};
}

}  // namespace tenon::converter
