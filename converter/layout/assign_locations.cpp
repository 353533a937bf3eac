#include "converter/layout/assign_locations.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "converter/layout/layouts.hpp"
#include "converter/layout/state_windows.hpp"
#include "converter/map/kernel_choice.hpp"
#include "runtime/ops/host/op_host_row.hpp"

namespace tenon::converter {
namespace {

using cpu::LayoutNeed;
using Strides = std::vector<int32_t>;

/// Returns true if a kernel with this need takes an operand with these strides.
bool Takes(LayoutNeed need, const Tensor& tensor, const Strides& strides) {
  if (SameStrides(tensor.shape, strides, DenseStrides(tensor.shape, tensor.layout))) return true;
  switch (need) {
    case LayoutNeed::kAny:
      return true;
    case LayoutNeed::kChannelsLastStrided:
      // Outer strides may leave gaps, but channels must be neighbours and pixels in order.
      return tensor.shape.rank == 4 && (tensor.shape[1] == 1 || strides[1] == 1) &&
             (tensor.shape[2] == 1 || strides[2] == strides[3] * tensor.shape[3]) &&
             (tensor.shape[0] == 1 || strides[0] == strides[3] * tensor.shape[3] * tensor.shape[2]);
    case LayoutNeed::kChannelsLastRows:
      return tensor.shape.rank == 4 && (tensor.shape[1] == 1 || strides[1] == 1);
    case LayoutNeed::kDense:
    case LayoutNeed::kRowMajor:
    case LayoutNeed::kChannelsLast:
      return false;
  }
  return false;
}

bool IsWeight(const Op& op, size_t input) {
  if (op.kind == OpKind::kQuantizedConv) return input != ConvInput::kX;
  return op.kind == OpKind::kConv && (input == ConvInput::kWeights || input == ConvInput::kBias);
}

/// Visits concatenations backwards and other views forwards.
class LocationAssigner {
 public:
  LocationAssigner(Graph& graph, PassReport& report, std::vector<int32_t>* stage_of_op,
                   const OutsideInputs& outside, const StateWindows& windows = {})
      : graph_(graph),
        report_(report),
        stage_of_op_(stage_of_op),
        outside_(outside),
        windows_(windows) {}

  Result<Locations> Run() {
    Resize();
    std::vector<OpId> backwards = graph_.OpOrder();
    std::reverse(backwards.begin(), backwards.end());
    for (const OpId id : backwards) {
      if (graph_.op(id).kind != OpKind::kConcat) continue;
      TENON_RETURN_IF_ERROR(PlaceConcat(id));
    }
    for (const OpId id : graph_.OpOrder()) PlaceForward(id);
    return std::move(result_);
  }

 private:
  void Resize() {
    TensorId last = kNone;
    for (const TensorId id : graph_.Tensors()) last = std::max(last, id);
    result_.tensors.resize(static_cast<size_t>(last + 1));
    for (const TensorId id : graph_.Tensors()) {
      Location& location = At(id);
      if (location.root != kNone) continue;
      location.root = id;
      location.strides = DenseStrides(graph_.tensor(id).shape, graph_.tensor(id).layout);
    }
    OpId last_op = kNone;
    for (const OpId id : graph_.OpOrder()) last_op = std::max(last_op, id);
    result_.elided.resize(static_cast<size_t>(last_op + 1), false);
  }

  Location& At(TensorId id) { return result_.tensors[static_cast<size_t>(id)]; }

  [[nodiscard]] bool OwnsBytes(TensorId id) const { return result_.at(id).root == id; }

  /// Returns true if every op that reads the tensor takes these strides.
  [[nodiscard]] bool ReadersTake(TensorId id, const Strides& strides) const {
    const Tensor& tensor = graph_.tensor(id);
    for (const OpId reader : graph_.Consumers(id)) {
      const Op& op = graph_.op(reader);
      const LayoutNeed need = CapsOf(op).activations;
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        if (op.inputs[i] != id) continue;
        if (!Takes(IsWeight(op, i) ? LayoutNeed::kRowMajor : need, tensor, strides)) return false;
      }
    }
    return true;
  }

  /// Returns true for a root, or a new window, that may be moved onto another root.
  [[nodiscard]] bool MayMove(TensorId id) const {
    return OwnsBytes(id) && !moved_onto_[id] && !graph_.tensor(id).IsConstant() &&
           !graph_.IsInput(id) && !graph_.IsOutput(id) && graph_.tensor(id).producer != kNone;
  }

  Status PlaceConcat(OpId id) {
    const Op op = graph_.op(id);
    const TensorId whole = op.outputs[0];
    const auto axis = op.attributes.As<ConcatAttributes>().axis;
    if (graph_.tensor(whole).shape.Elements() == 0) return {};
    std::vector<bool> placed(op.inputs.size(), false);
    size_t placed_count = 0;
    int64_t begin = 0;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const int32_t extent = graph_.tensor(op.inputs[i]).shape[axis];
      // An empty part needs no action, and a window at the end would lie outside.
      placed[i] = extent == 0 ||
                  (IsOfStage(op.inputs[i], id) && PlacePart(op.inputs[i], whole, axis, begin, 0));
      placed_count += placed[i] && extent > 0 ? 1 : 0;
      begin += extent;
    }
    if (placed_count == 0) {
      report_.declined.push_back({op.name, "no part can be written in place"});
      return {};
    }
    return CopyOtherParts(id, placed);
  }

  /// Copies parts that could not be placed to their places, so the concatenation itself is free.
  Status CopyOtherParts(OpId id, const std::vector<bool>& placed) {
    const TensorId whole = graph_.op(id).outputs[0];
    const auto axis = graph_.op(id).attributes.As<ConcatAttributes>().axis;
    int64_t begin = 0;
    for (size_t i = 0; i < placed.size(); ++i) {
      const TensorId part = graph_.op(id).inputs[i];
      const int32_t extent = graph_.tensor(part).shape[axis];
      if (!placed[i]) {
        const std::string name = fmt::format("{}.part_{}", graph_.op(id).name, i);
        TENON_ASSIGN_OR_RETURN(const OpId copy, graph_.InsertOp(id, OpKind::kCopy, name, {part},
                                                                Attributes(), {name}));
        UseKernelOfNeighbour(graph_, copy, id);
        const TensorId copied = graph_.op(copy).outputs[0];
        graph_.MutableTensor(copied).layout = graph_.tensor(part).layout;
        graph_.MutableOp(id).inputs[i] = copied;
        if (stage_of_op_ != nullptr) {
          stage_of_op_->resize(static_cast<size_t>(copy) + 1, 0);
          stage_of_op_->back() = StageOf(id);
        }
        Resize();
        moved_onto_.Grow(copied);
        PlaceAt(copied, Window(whole, axis, begin));
        report_.declined.push_back(
            {graph_.op(id).name, fmt::format("part {} is copied: its producer or a reader cannot "
                                             "take strides, or it lies elsewhere already",
                                             i)});
      }
      begin += extent;
    }
    result_.elided[static_cast<size_t>(id)] = true;
    ++report_.changed;
    return {};
  }

  [[nodiscard]] int32_t StageOf(OpId id) const {
    return stage_of_op_ == nullptr ? 0 : stage_of_op_->at(static_cast<size_t>(id));
  }

  /// Returns true if the tensor is made in the stage of `op`.
  [[nodiscard]] bool IsOfStage(TensorId id, OpId op) const {
    const OpId producer = graph_.tensor(id).producer;
    return producer == kNone || StageOf(producer) == StageOf(op);
  }

  /// Returns the part of `whole` that starts at `begin` along `axis`.
  [[nodiscard]] Location Window(TensorId whole, int32_t axis, int64_t begin) const {
    Location location = result_.at(whole);
    location.offset += begin * location.strides[static_cast<size_t>(axis)] *
                       DTypeBytes(graph_.tensor(whole).dtype);
    return location;
  }

  bool PlacePart(TensorId part, TensorId whole, int32_t axis, int64_t begin, int depth) {
    if (graph_.tensor(part).layout != graph_.tensor(whole).layout &&
        graph_.tensor(part).shape.rank == 4) {
      return false;
    }
    return PlaceBackwards(part, Window(whole, axis, begin), depth);
  }

  /// Makes `id` the window `location`, and also the tensor it is a view of where that is possible,
  /// so that the op at the start of a chain of views writes directly to its place.
  bool PlaceBackwards(TensorId id, const Location& location, int depth) {
    if (OwnsBytes(id) && !moved_onto_[id] && windows_.MayReadAt(graph_, id, location)) {
      if (!ReadersTake(id, location.strides)) return false;
      PlaceAt(id, location);
      return true;
    }
    if (!MayMove(id) || !ReadersTake(id, location.strides)) return false;
    const OpId producer = graph_.tensor(id).producer;
    const Op& op = graph_.op(producer);
    if (op.kind == OpKind::kConcat) {
      // Inner concatenations are visited later and follow to the new place.
      if (result_.elided[static_cast<size_t>(producer)]) return false;
      PlaceAt(id, location);
      return true;
    }
    constexpr int kDeepestChain = 16;
    if (depth < kDeepestChain && GetOpHostRow(op.kind).view == ViewKind::kSameElements) {
      const std::optional<Strides> source = SourceStrides(op, location.strides);
      if (source.has_value() && IsOfStage(op.inputs[0], producer) &&
          PlaceBackwards(op.inputs[0], Location{location.root, location.offset, *source},
                         depth + 1)) {
        PlaceAt(id, location);
        result_.elided[static_cast<size_t>(producer)] = true;
        return true;
      }
    }
    if (!Takes(CapsOf(op).activations, graph_.tensor(id), location.strides)) return false;
    if (TakesRows(op) &&
        !SameStrides(graph_.tensor(id).shape, location.strides,
                     DenseStrides(graph_.tensor(id).shape, graph_.tensor(id).layout))) {
      return false;
    }
    PlaceAt(id, location);
    return true;
  }

  /// Returns true of a copy of an input that comes by rows: whoever hands rows in writes them one
  /// after another, so that what it makes must be one run of bytes.
  [[nodiscard]] bool TakesRows(const Op& op) const {
    if (op.kind != OpKind::kCopy || outside_.empty()) return false;
    TensorId source = op.inputs[0];
    for (OpId maker = graph_.tensor(source).producer; maker != kNone;
         maker = graph_.tensor(source).producer) {
      const ViewKind view = GetOpHostRow(graph_.op(maker).kind).view;
      if (view != ViewKind::kSameElements && view != ViewKind::kOutputInsideInput) return false;
      source = graph_.op(maker).inputs[0];
    }
    return std::any_of(outside_.begin(), outside_.end(), [source](const OutsideInput& input) {
      return input.rows > 0 && input.tensor == source;
    });
  }

  void PlaceAt(TensorId id, const Location& location) {
    At(id) = location;
    moved_onto_.Mark(location.root);
  }

  /// Returns the input's strides for a same-elements op whose output has `strides`.
  [[nodiscard]] std::optional<Strides> SourceStrides(const Op& op, const Strides& strides) const {
    const Shape& input = graph_.tensor(op.inputs[0]).shape;
    const Shape& output = graph_.tensor(op.outputs[0]).shape;
    switch (op.kind) {
      case OpKind::kReshape: {
        Strides source = ReshapeStrides(output, strides, input);
        if (source.empty() && input.rank > 0) return std::nullopt;
        return source;
      }
      case OpKind::kTranspose: {
        const auto attributes = op.attributes.As<TransposeAttributes>();
        Strides source(static_cast<size_t>(input.rank));
        for (int32_t i = 0; i < attributes.rank; ++i) {
          source[static_cast<size_t>(attributes.permutation[i])] = strides[static_cast<size_t>(i)];
        }
        return source;
      }
      default:
        return std::nullopt;  // a copy is there to change the layout
    }
  }

  /// Makes the output of a view op a window on its input, where nothing prevents it.
  void PlaceForward(OpId id) {
    const Op& op = graph_.op(id);
    if (result_.elided[static_cast<size_t>(id)] || op.outputs.size() != 1) return;
    const ViewKind view = GetOpHostRow(op.kind).view;
    if (view != ViewKind::kSameElements && view != ViewKind::kOutputInsideInput) return;
    const TensorId input = op.inputs[0];
    const TensorId output = op.outputs[0];
    std::optional<Location> window = ForwardWindow(op, result_.at(input));
    if (window.has_value()) {
      // Strides of dimensions of 1 have no effect: a window without gaps gets those of a dense
      // tensor, so that it may be handed over to one.
      Strides dense = DenseStrides(graph_.tensor(output).shape, graph_.tensor(output).layout);
      if (SameStrides(graph_.tensor(output).shape, window->strides, dense)) {
        window->strides = std::move(dense);
      }
    }
    if (!window.has_value() || !OwnsBytes(output) || moved_onto_[output] ||
        !ReadersTake(output, window->strides)) {
      return;
    }
    if (graph_.IsOutput(output) && !MayBeOutputWindow(output, *window)) return;
    PlaceAt(output, *window);
    result_.elided[static_cast<size_t>(id)] = true;
    ++report_.changed;
  }

  /// A graph output must be all of a storage of its own, in row-major order.
  [[nodiscard]] bool MayBeOutputWindow(TensorId output, const Location& window) {
    if (windows_.MayWriteAt(graph_, result_, output, window)) return true;
    const Tensor& root = graph_.tensor(window.root);
    const Tensor& tensor = graph_.tensor(output);
    if (window.offset != 0 || root.IsConstant() || graph_.IsInput(window.root) ||
        root.ByteSize() != tensor.ByteSize() ||
        !SameStrides(tensor.shape, window.strides, DenseStrides(tensor.shape, Layout::kRowMajor))) {
      return false;
    }
    for (const Graph::Port& port : graph_.outputs()) {
      if (result_.at(port.tensor).root == window.root) return false;
    }
    return true;
  }

  [[nodiscard]] std::optional<Location> ForwardWindow(const Op& op, const Location& input) const {
    const Tensor& source = graph_.tensor(op.inputs[0]);
    const Tensor& output = graph_.tensor(op.outputs[0]);
    if (output.shape.Elements() == 0) return std::nullopt;
    Location window = input;
    switch (op.kind) {
      case OpKind::kReshape:
        window.strides = ReshapeStrides(source.shape, input.strides, output.shape);
        if (window.strides.empty() && output.shape.rank > 0) return std::nullopt;
        return window;
      case OpKind::kTranspose: {
        const auto attributes = op.attributes.As<TransposeAttributes>();
        for (int32_t i = 0; i < attributes.rank; ++i) {
          window.strides[static_cast<size_t>(i)] =
              input.strides[static_cast<size_t>(attributes.permutation[i])];
        }
        return window;
      }
      case OpKind::kCopy:
        // Between equal layouts the copy's purpose is to move the bytes: its source must die, or is
        // needed in two places.
        if (source.layout == output.layout ||
            !SameStrides(output.shape, input.strides, DenseStrides(output.shape, output.layout))) {
          return std::nullopt;
        }
        return window;
      case OpKind::kSlice: {
        const auto attributes = op.attributes.As<SliceAttributes>();
        for (int32_t i = 0; i < attributes.rank; ++i) {
          const auto k = static_cast<size_t>(i);
          window.offset += static_cast<int64_t>(attributes.begins[i]) * input.strides[k] *
                           DTypeBytes(source.dtype);
          // Where one element is taken, the step may be any number and has no effect.
          if (attributes.sizes[i] == 1) continue;
          if (attributes.steps[i] < 1) return std::nullopt;
          window.strides[k] = input.strides[k] * attributes.steps[i];
        }
        return window;
      }
      default:
        return std::nullopt;
    }
  }

  /// Marks tensors that others have become windows on: they must stay roots.
  class RootMarks {
   public:
    [[nodiscard]] bool operator[](TensorId id) const {
      return static_cast<size_t>(id) < marks_.size() && marks_[static_cast<size_t>(id)];
    }
    void Grow(TensorId id) {
      if (marks_.size() <= static_cast<size_t>(id)) marks_.resize(static_cast<size_t>(id) + 1);
    }
    void Mark(TensorId id) {
      Grow(id);
      marks_[static_cast<size_t>(id)] = true;
    }

   private:
    std::vector<bool> marks_;
  };

  Graph& graph_;
  PassReport& report_;
  Locations result_;
  RootMarks moved_onto_;
  std::vector<int32_t>* stage_of_op_;  ///< null: all ops are in one
  const OutsideInputs& outside_;
  const StateWindows windows_;
};

}  // namespace

std::vector<int32_t> ReshapeStrides(const Shape& dims, const std::vector<int32_t>& strides,
                                    const Shape& new_dims) {
  Strides result(static_cast<size_t>(new_dims.rank), 1);
  // Compares groups of dimensions with equal products, from the last; inside a group the old ones
  // must be contiguous among themselves.
  int32_t old_axis = dims.rank - 1;
  int32_t new_axis = new_dims.rank - 1;
  while (new_axis >= 0 || old_axis >= 0) {
    while (old_axis >= 0 && dims[old_axis] == 1) --old_axis;
    while (new_axis >= 0 && new_dims[new_axis] == 1) --new_axis;
    if (old_axis < 0 || new_axis < 0) break;
    int64_t old_product = dims[old_axis];
    int64_t new_product = new_dims[new_axis];
    int32_t stride = strides[static_cast<size_t>(old_axis)];
    result[static_cast<size_t>(new_axis)] = stride;
    while (old_product != new_product) {
      if (old_product < new_product) {
        const int32_t inner = old_axis--;
        while (old_axis >= 0 && dims[old_axis] == 1) --old_axis;
        if (old_axis < 0) return {};
        const int64_t expected =
            static_cast<int64_t>(strides[static_cast<size_t>(inner)]) * dims[inner];
        if (strides[static_cast<size_t>(old_axis)] != expected) return {};
        old_product *= dims[old_axis];
      } else {
        const int64_t next =
            static_cast<int64_t>(result[static_cast<size_t>(new_axis)]) * new_dims[new_axis];
        --new_axis;
        while (new_axis >= 0 && new_dims[new_axis] == 1) --new_axis;
        if (new_axis < 0) return {};
        result[static_cast<size_t>(new_axis)] = static_cast<int32_t>(next);
        new_product *= new_dims[new_axis];
      }
    }
    --old_axis;
    --new_axis;
  }
  return result;
}

Result<Locations> AssignLocations(Graph& graph, PassReport& report,
                                  std::vector<int32_t>* stage_of_op, const OutsideInputs& outside) {
  if (stage_of_op != nullptr) return LocationAssigner(graph, report, stage_of_op, outside).Run();
  // What a state reads can be a window only if what it writes becomes one, which comes later: tried
  // on a copy.
  StateWindows windows(graph);
  for (bool is_sound = windows.empty(); !is_sound;) {
    Graph tried = graph;
    PassReport ignored;
    TENON_ASSIGN_OR_RETURN(const Locations locations,
                           LocationAssigner(tried, ignored, nullptr, outside, windows).Run());
    is_sound = !windows.KeepSound(tried, locations);
  }
  return LocationAssigner(graph, report, nullptr, outside, windows).Run();
}

}  // namespace tenon::converter
