#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "converter/layout/layouts.hpp"
#include "converter/map/kernel_choice.hpp"
#include "runtime/ops/host/op_host_row.hpp"

namespace tenon::converter {
namespace {

bool IsImage(const Tensor& tensor) { return tensor.shape.rank == 4; }

/// Weights and biases keep the model's row-major order, because kernels know them by their role.
/// Points are no image, whatever their rank.
bool IsActivation(const Op& op, size_t input) {
  const OpTraits& traits = TraitsOf(op.kind);
  if (static_cast<int>(input) == traits.points) return false;
  return !traits.convolution || input == ConvInput::kX || input == ConvInput::kResidual;
}

std::optional<Layout> FixedLayout(LayoutNeed need) {
  switch (need) {
    case LayoutNeed::kChannelsLast:
    case LayoutNeed::kChannelsLastStrided:
    case LayoutNeed::kChannelsLastRows:
      return Layout::kChannelsLast;
    case LayoutNeed::kRowMajor:
      return Layout::kRowMajor;
    case LayoutNeed::kAny:
    case LayoutNeed::kDense:
      return std::nullopt;
  }
  return std::nullopt;
}

/// Returns the layout after a transpose that moves no element; row-major if there is none.
Layout TransposedLayout(const Graph& graph, const Op& op) {
  const Tensor& input = graph.tensor(op.inputs[0]);
  const Tensor& output = graph.tensor(op.outputs[0]);
  const std::vector<int32_t> strides = DenseStrides(input.shape, input.layout);
  const auto attributes = op.attributes.As<TransposeAttributes>();
  TensorView view;
  std::vector<int32_t> permuted;
  for (int32_t i = 0; i < attributes.rank; ++i) {
    permuted.push_back(strides[static_cast<size_t>(attributes.permutation[i])]);
  }
  view.dims = output.shape.dims;
  view.strides = permuted.data();
  view.rank = static_cast<uint8_t>(output.shape.rank);
  return !view.IsRowMajor() && view.IsChannelsLast() ? Layout::kChannelsLast : Layout::kRowMajor;
}

class Assigner {
 public:
  Assigner(Graph& graph, LaidOutWeights& weights, PassReport& report)
      : graph_(graph), weights_(weights), report_(report) {}

  Status Run() {
    const std::vector<OpId> order = graph_.OpOrder();
    for (size_t i = 0; i < order.size(); ++i) {
      const auto id = static_cast<size_t>(order[i]);
      if (next_.size() <= id) next_.resize(id + 1, kNone);
      if (i + 1 < order.size()) next_[id] = order[i + 1];
    }
    for (const OpId id : order) {
      TENON_RETURN_IF_ERROR(AssignOp(id));
    }
    TENON_RETURN_IF_ERROR(ConvertOutputs());
    EraseReplacedConstants();
    return {};
  }

 private:
  Status AssignOp(OpId id) {
    const LayoutNeed need = CapsOf(graph_.op(id)).activations;
    const Layout output_layout = OutputLayout(graph_.op(id), need);
    for (const TensorId output : graph_.op(id).outputs) {
      if (IsImage(graph_.tensor(output))) graph_.MutableTensor(output).layout = output_layout;
    }
    for (size_t i = 0; i < graph_.op(id).inputs.size(); ++i) {
      const std::optional<Layout> wanted = InputLayout(graph_.op(id), i, need, output_layout);
      if (!wanted.has_value()) continue;
      TENON_ASSIGN_OR_RETURN(const TensorId converted,
                             Converted(graph_.op(id).inputs[i], *wanted, PlaceOfCopy(id, i), id));
      graph_.SetInput(id, i, converted);
    }
    return {};
  }

  /// A graph output that is joined from parts is converted to row-major part by part, each as soon
  /// as it is made. Then neither the parts nor a channels-last whole need to live until the end.
  [[nodiscard]] bool JoinsOutput(const Op& op) const {
    return op.kind == OpKind::kConcat && graph_.IsOutput(op.outputs[0]);
  }

  /// Returns the op before which an input of `id` is converted.
  [[nodiscard]] OpId PlaceOfCopy(OpId id, size_t input) const {
    const Op& op = graph_.op(id);
    const OpId producer = graph_.tensor(op.inputs[input]).producer;
    if (!JoinsOutput(op) || producer == kNone) return id;
    const auto k = static_cast<size_t>(producer);
    return k < next_.size() && next_[k] != kNone ? next_[k] : id;
  }

  /// Returns true if a reader's kernel takes nothing else.
  [[nodiscard]] bool ReadAsChannelsLast(TensorId tensor) const {
    for (const OpId reader : graph_.Consumers(tensor)) {
      const Op& op = graph_.op(reader);
      if (FixedLayout(CapsOf(op).activations) == Layout::kChannelsLast) return true;
    }
    return false;
  }

  [[nodiscard]] Layout OutputLayout(const Op& op, LayoutNeed need) const {
    if (const auto fixed = FixedLayout(need)) return *fixed;
    if (JoinsOutput(op)) return Layout::kRowMajor;
    const OpTraits& traits = TraitsOf(op.kind);
    if (traits.convolution || traits.pool) return Layout::kChannelsLast;
    if (traits.new_axes) return Layout::kRowMajor;
    switch (op.kind) {
      case OpKind::kTranspose:
        return TransposedLayout(graph_, op);
      // These visit all elements and can write them in the layout that is wanted.
      case OpKind::kQuantize:
        if (ReadAsChannelsLast(op.outputs[0])) return Layout::kChannelsLast;
        break;
      case OpKind::kDequantize:
        if (graph_.IsOutput(op.outputs[0])) return Layout::kRowMajor;
        break;
      default:
        break;
    }
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i] == kNone || static_cast<int>(i) == traits.points) continue;
      const Tensor& input = graph_.tensor(op.inputs[i]);
      if (IsImage(input) && !input.IsConstant() && input.layout == Layout::kChannelsLast) {
        return Layout::kChannelsLast;
      }
    }
    return Layout::kRowMajor;
  }

  /// Returns the layout that input `index` must have; none if its kernel takes it as it is.
  [[nodiscard]] std::optional<Layout> InputLayout(const Op& op, size_t index, LayoutNeed need,
                                                  Layout output_layout) const {
    if (op.inputs[index] == kNone || !IsActivation(op, index)) return std::nullopt;
    const Tensor& input = graph_.tensor(op.inputs[index]);
    if (!IsImage(input)) return std::nullopt;
    if (const auto fixed = FixedLayout(need)) return fixed;
    if (op.kind == OpKind::kReshape) return Layout::kRowMajor;
    if (input.IsConstant() && need == LayoutNeed::kAny) {
      // A small broadcast constant is read element by element in any layout.
      const bool is_whole = input.shape == graph_.tensor(op.outputs[0]).shape;
      return is_whole ? std::optional(output_layout) : std::nullopt;
    }
    const bool wants_one_layout = need == LayoutNeed::kDense || TraitsOf(op.kind).operands_alike;
    return wants_one_layout ? std::optional(output_layout) : std::nullopt;
  }

  /// `reader` is the op that needs it, or kNone.
  Result<TensorId> Converted(TensorId tensor, Layout layout, OpId before, OpId reader) {
    if (graph_.tensor(tensor).layout == layout) return tensor;
    const auto key = std::make_pair(tensor, layout);
    if (const auto found = converted_.find(key); found != converted_.end()) return found->second;
    const std::string name =
        fmt::format("{}.{}", graph_.tensor(tensor).name,
                    layout == Layout::kChannelsLast ? "channels_last" : "row_major");
    if (graph_.tensor(tensor).IsConstant()) {
      return converted_[key] = LaidOutConstant(tensor, layout, name);
    }
    TENON_ASSIGN_OR_RETURN(const OpId copy, graph_.InsertOp(before, OpKind::kCopy, name, {tensor},
                                                            Attributes(), {name}));
    const TensorId result = graph_.op(copy).outputs[0];
    graph_.MutableTensor(result).layout = layout;
    UseKernelOfNeighbour(graph_, copy, reader);
    converted_[key] = result;
    ++report_.changed;
    return result;
  }

  TensorId LaidOutConstant(TensorId id, Layout layout, const std::string& name) {
    const Tensor& tensor = graph_.tensor(id);
    const TensorId result =
        graph_.AddConstant(name, tensor.dtype, tensor.shape, weights_.Get(tensor, layout));
    graph_.MutableTensor(result).layout = layout;
    ++report_.changed;
    return result;
  }

  void EraseReplacedConstants() {
    for (const auto& [key, converted] : converted_) {
      const TensorId source = key.first;
      if (!graph_.IsTensor(source) || !graph_.tensor(source).IsConstant()) continue;
      if (!graph_.IsRead(source) && !graph_.IsOutput(source)) graph_.EraseTensor(source);
    }
  }

  Status ConvertOutputs() {
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const TensorId tensor = graph_.outputs()[i].tensor;
      if (LayoutsCoincide(graph_.tensor(tensor).shape)) {
        graph_.MutableTensor(tensor).layout = Layout::kRowMajor;
        continue;
      }
      TENON_ASSIGN_OR_RETURN(const TensorId converted,
                             Converted(tensor, Layout::kRowMajor, kNone, kNone));
      graph_.SetPortTensor(/*output=*/true, i, converted);
    }
    return {};
  }

  Graph& graph_;
  LaidOutWeights& weights_;
  PassReport& report_;
  std::map<std::pair<TensorId, Layout>, TensorId> converted_;
  std::vector<OpId> next_;  ///< by OpId: the op that followed it before copies were inserted
};

}  // namespace

bool LayoutsCoincide(const Shape& shape) {
  if (shape.rank != 4) return true;
  return shape[1] == 1 || (shape[2] == 1 && shape[3] == 1);
}

Status AssignLayouts(Graph& graph, LaidOutWeights& weights, PassContext& context) {
  return Assigner(graph, weights, context.report).Run();
}

}  // namespace tenon::converter
