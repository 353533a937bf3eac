#include "converter/stage/staged_graph.hpp"

#include <algorithm>
#include <utility>

#include "converter/layout/assign_locations.hpp"
#include "converter/map/kernel_choice.hpp"
#include "converter/schedule/program_problem.hpp"

namespace tenon::converter {
namespace {

constexpr int32_t kNoStage = -1;

class Placer {
 public:
  Placer(StagedGraph& result, const std::vector<std::string>& backend_of_stage, PassReport& report)
      : result_(result),
        graph_(result.graph),
        stages_(result.stage_of_op),
        backend_of_stage_(backend_of_stage),
        report_(report) {}

  Status Run() {
    StageNewOps();
    TENON_RETURN_IF_ERROR(CheckForward());
    TENON_ASSIGN_OR_RETURN(result_.locations, AssignLocations(graph_, report_, &stages_));
    TENON_RETURN_IF_ERROR(CopyPorts());
    for (const OpId id : graph_.OpOrder()) TakeBackendOfStage(id);
    SetOrder();
    return {};
  }

 private:
  int32_t& StageOf(OpId id) {
    const auto k = static_cast<size_t>(id);
    if (stages_.size() <= k) stages_.resize(k + 1, kNoStage);
    return stages_[k];
  }
  [[nodiscard]] const Op& OpAt(OpId id) const { return graph_.op(id); }

  // --- ops that passes have inserted ----------------------------------------------------------

  /// The last stage that writes what the op reads, or kNoStage.
  int32_t LastWriter(OpId id) {
    int32_t last = kNoStage;
    for (const TensorId input : OpAt(id).inputs) {
      if (input == kNone || graph_.tensor(input).producer == kNone) continue;
      last = std::max(last, StageOf(graph_.tensor(input).producer));
    }
    return last;
  }

  /// The first stage that reads what the op writes, or kNoStage.
  int32_t FirstReader(OpId id) {
    int32_t first = kNoStage;
    for (const TensorId output : OpAt(id).outputs) {
      for (const OpId reader : graph_.Consumers(output)) {
        const int32_t stage = StageOf(reader);
        if (stage != kNoStage && (first == kNoStage || stage < first)) first = stage;
      }
    }
    return first;
  }

  void StageNewOps() {
    const std::vector<OpId> order = graph_.OpOrder();
    for (const OpId id : order) StageOf(id);
    for (auto id = order.rbegin(); id != order.rend(); ++id) {
      if (StageOf(*id) == kNoStage && !ReadsOps(*id)) StageOf(*id) = FirstReader(*id);
    }
    for (const OpId id : order) {
      if (StageOf(id) != kNoStage) continue;
      const int32_t before = LastWriter(id);
      const int32_t after = FirstReader(id);
      const bool with_reader =
          after > before && (before == kNoStage || (BackendOf(before) != OpAt(id).backend &&
                                                    BackendOf(after) == OpAt(id).backend));
      StageOf(id) = std::max(with_reader ? after : before, 0);
    }
  }

  [[nodiscard]] bool ReadsOps(OpId id) const {
    const std::vector<TensorId>& inputs = OpAt(id).inputs;
    return std::any_of(inputs.begin(), inputs.end(), [&](TensorId input) {
      return input != kNone && graph_.tensor(input).producer != kNone;
    });
  }

  [[nodiscard]] const std::string& BackendOf(int32_t stage) const {
    return backend_of_stage_.at(static_cast<size_t>(stage));
  }

  Status CheckForward() {
    for (const OpId id : graph_.OpOrder()) {
      if (LastWriter(id) <= StageOf(id)) continue;
      return InternalError("'{}' is in stage {} and reads what a later stage writes", OpAt(id).name,
                           StageOf(id));
    }
    return {};
  }

  // --- ports ----------------------------------------------------------------------------------

  [[nodiscard]] bool IsElided(OpId id) const {
    return result_.locations.elided[static_cast<size_t>(id)];
  }
  [[nodiscard]] TensorId RootOf(TensorId id) const { return result_.locations.at(id).root; }

  /// Lets only one stage touch each of the caller's tensors; for an input it is the first that
  /// reads it.
  Status CopyPorts() {
    const std::vector<OpId> order = graph_.OpOrder();
    for (const Graph::Port& port : graph_.inputs()) {
      const TensorId root = RootOf(port.tensor);
      int32_t owner = kNoStage;
      for (const OpId id : order) {
        if (IsElided(id) || !Reads(id, root)) continue;
        owner = owner == kNoStage ? StageOf(id) : std::min(owner, StageOf(id));
      }
      TENON_RETURN_IF_ERROR(CopyForLaterStages(root, owner, order));
    }
    const std::vector<Graph::Port> outputs = graph_.outputs();
    for (const Graph::Port& port : outputs) {
      const TensorId root = RootOf(port.tensor);
      int32_t owner = kNoStage;
      for (const OpId id : order) {
        if (IsElided(id)) continue;
        for (const TensorId output : OpAt(id).outputs) {
          if (RootOf(output) == root) owner = StageOf(id);
        }
      }
      TENON_RETURN_IF_ERROR(CopyForLaterStages(root, owner, order));
    }
    return {};
  }

  /// A copy from one stage to the next has the backend of one of them. In its own stage it must not
  /// be between ops of another backend, which would then be started twice.
  void TakeBackendOfStage(OpId id) {
    if (OpAt(id).kind != OpKind::kCopy || IsElided(id)) return;
    const std::string& name = BackendOf(StageOf(id));
    if (OpAt(id).backend == name) return;
    if (name == "cpu") {
      UsePortableKernel(graph_.MutableOp(id));
      return;
    }
    const BackendCaps* backend = FindBackend(graph_.backends, name);
    if (backend == nullptr) return;
    const OpCallView view(graph_, OpAt(id));
    for (const KernelCaps& caps : backend->kernels) {
      if (caps.kind != OpKind::kCopy || caps.activations != LayoutNeed::kAny ||
          caps.workspace_bytes != nullptr || caps.supports(view.call()) != nullptr) {
        continue;
      }
      UseKernel(graph_.MutableOp(id), name, caps);
      return;
    }
  }

  [[nodiscard]] bool Reads(OpId id, TensorId root) const {
    const std::vector<TensorId>& inputs = OpAt(id).inputs;
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](TensorId input) { return input != kNone && RootOf(input) == root; });
  }

  /// Ops of stages after `owner` read copies, made in `owner`, of the tensors on `root`.
  Status CopyForLaterStages(TensorId root, int32_t owner, const std::vector<OpId>& order) {
    std::vector<std::pair<TensorId, TensorId>> copies;  // of which tensor
    for (const OpId id : order) {
      if (IsElided(id) || StageOf(id) == owner) continue;
      for (size_t i = 0; i < OpAt(id).inputs.size(); ++i) {
        const TensorId input = OpAt(id).inputs[i];
        if (input == kNone || RootOf(input) != root) continue;
        auto known = std::find_if(copies.begin(), copies.end(),
                                  [&](const auto& copy) { return copy.first == input; });
        if (known == copies.end()) {
          TENON_ASSIGN_OR_RETURN(const TensorId made, AddCopy(input, owner, order));
          copies.emplace_back(input, made);
          known = std::prev(copies.end());
        }
        graph_.SetInput(id, i, known->second);
      }
    }
    return {};
  }

  Result<TensorId> AddCopy(TensorId of, int32_t stage, const std::vector<OpId>& order) {
    const std::string name = fmt::format("{}.for_later_stages", graph_.tensor(of).name);
    TENON_ASSIGN_OR_RETURN(const OpId copy, graph_.InsertOp(AfterProducer(of), OpKind::kCopy, name,
                                                            {of}, Attributes(), {name}));
    const TensorId made = OpAt(copy).outputs[0];
    graph_.MutableTensor(made).layout = graph_.tensor(of).layout;
    // An op of the stage that touches the same tensor, which gives the backend.
    OpId neighbour = kNone;
    for (const OpId id : order) {
      if (StageOf(id) == stage && !IsElided(id) && Reads(id, RootOf(of))) neighbour = id;
    }
    UseKernelOfNeighbour(graph_, copy, neighbour);
    StageOf(copy) = stage;
    Locations& locations = result_.locations;
    locations.elided.resize(std::max(locations.elided.size(), static_cast<size_t>(copy) + 1));
    locations.tensors.resize(std::max(locations.tensors.size(), static_cast<size_t>(made) + 1));
    locations.tensors[static_cast<size_t>(made)] = {
        made, 0, DenseStrides(graph_.tensor(made).shape, graph_.tensor(made).layout)};
    ++report_.changed;
    return made;
  }

  /// Returns the op before which the value of `id` is first complete.
  [[nodiscard]] OpId AfterProducer(TensorId id) const {
    const std::vector<OpId> order = graph_.OpOrder();
    const OpId producer = graph_.tensor(id).producer;
    if (producer == kNone) return order.front();
    const auto at = std::find(order.begin(), order.end(), producer);
    return std::next(at) == order.end() ? kNone : *std::next(at);
  }

  void SetOrder() {
    for (const OpId id : graph_.OpOrder()) {
      if (!IsElided(id)) result_.steps.push_back(id);
    }
    std::stable_sort(result_.steps.begin(), result_.steps.end(),
                     [&](OpId a, OpId b) { return StageOf(a) < StageOf(b); });
    graph_.SetOrder(WithElidedOps(graph_, result_.locations, result_.steps));
  }

  StagedGraph& result_;
  Graph& graph_;
  std::vector<int32_t>& stages_;
  const std::vector<std::string>& backend_of_stage_;
  PassReport& report_;
};

}  // namespace

Status PlaceInStages(StagedGraph& staged, const std::vector<std::string>& backend_of_stage,
                     PassReport& report) {
  return Placer(staged, backend_of_stage, report).Run();
}

}  // namespace tenon::converter
