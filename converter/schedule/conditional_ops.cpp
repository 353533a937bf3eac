#include "converter/schedule/conditional_ops.hpp"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "converter/solve/sort_and_unique.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::converter {
namespace {

using In = SelectInput;

/// What the readers of one storage have in common; nothing once two differ.
class CommonCondition {
 public:
  void Add(const std::optional<RunCondition>& condition) {
    if (!condition || (common_ && *common_ != *condition)) differ_ = true;
    common_ = condition;
  }
  [[nodiscard]] std::optional<RunCondition> Get() const { return differ_ ? std::nullopt : common_; }

 private:
  std::optional<RunCondition> common_;
  bool differ_ = false;
};

/// Goes through the steps from the last to the first: who reads an op's results is known then. Only
/// of a storage that is read before its last part is there, some readers are not: they are believed
/// to have the condition of the others, and where they do not, the search begins anew without it.
class ConditionSearch {
 public:
  ConditionSearch(const Graph& graph, const Locations& locations, const std::vector<OpId>& steps,
                  const OutsideInputs& outside)
      : graph_(graph), locations_(locations), steps_(steps) {
    for (const OutsideInput& input : outside) {
      if (input.rows > 0) rows_.insert(input.tensor);
    }
    for (size_t i = 0; i < steps.size(); ++i) {
      for (const TensorId output : graph.op(steps[i]).outputs) made_at_[RootOf(output)] = i;
    }
    for (const auto* ports : {&graph.inputs(), &graph.outputs()}) {
      for (const Graph::Port& port : *ports) always_read_.insert(RootOf(port.tensor));
    }
  }

  std::unordered_map<OpId, RunCondition> Run() {
    const bool chooses = std::any_of(steps_.begin(), steps_.end(), [&](OpId id) {
      return ChosenBy(graph_.op(id), In::kX).has_value();
    });
    if (!chooses) return {};
    constexpr int kMostSearches = 16;
    for (int search = 0; search < kMostSearches; ++search) {
      Search();
      if (!LeaveWhatDiffers()) return found_;
    }
    return {};
  }

 private:
  [[nodiscard]] TensorId RootOf(TensorId id) const { return locations_.at(id).root; }

  void Search() {
    found_.clear();
    readers_.clear();
    for (const TensorId root : always_read_) readers_[root].Add(std::nullopt);
    for (size_t i = steps_.size(); i-- > 0;) {
      const Op& op = graph_.op(steps_[i]);
      const std::optional<RunCondition> condition = ConditionOf(op, i);
      if (condition) {
        found_[steps_[i]] = *condition;
        readers_[RootOf(condition->tensor)].Add(std::nullopt);
      }
      for (size_t k = 0; k < op.inputs.size(); ++k) {
        if (op.inputs[k] == kNone) continue;
        const std::optional<RunCondition> chosen = condition ? condition : ChosenBy(op, k);
        readers_[RootOf(op.inputs[k])].Add(chosen);
      }
    }
  }

  /// Has storages read always of which, now that all are known, the readers differ. False if there
  /// are none.
  bool LeaveWhatDiffers() {
    bool differ = false;
    for (const auto& [id, condition] : found_) {
      for (const TensorId output : graph_.op(id).outputs) {
        const auto readers = readers_.find(RootOf(output));
        if (readers == readers_.end() || readers->second.Get() == condition) continue;
        differ = true;
        always_read_.insert(readers->first);
      }
    }
    return differ;
  }

  /// What the readers of all results of the op at `step` have in common.
  [[nodiscard]] std::optional<RunCondition> ConditionOf(const Op& op, size_t step) const {
    CommonCondition common;
    for (const TensorId output : op.outputs) {
      const auto readers = readers_.find(RootOf(output));
      if (readers != readers_.end()) common.Add(readers->second.Get());
    }
    const std::optional<RunCondition> condition = common.Get();
    if (!condition || op.backend != "cpu" || !IsKnownBefore(*condition, step)) return std::nullopt;
    for (const TensorId input : op.inputs) {
      if (input != kNone && rows_.contains(RootOf(input))) return std::nullopt;
    }
    return condition;
  }

  [[nodiscard]] bool IsKnownBefore(const RunCondition& condition, size_t step) const {
    const auto made = made_at_.find(RootOf(condition.tensor));
    if (made == made_at_.end()) return true;  // an input
    return made->second < step && graph_.op(steps_[made->second]).backend == "cpu";
  }

  /// If the op is a select by one bool that is computed: when it reads input `index`.
  [[nodiscard]] std::optional<RunCondition> ChosenBy(const Op& op, size_t index) const {
    if (op.kind != OpKind::kSelect || index == In::kCondition) return std::nullopt;
    const TensorId condition = op.inputs[In::kCondition];
    if (graph_.tensor(condition).shape.Elements() != 1 ||
        graph_.tensor(RootOf(condition)).IsConstant()) {
      return std::nullopt;
    }
    return RunCondition{condition, index == In::kX};
  }

  const Graph& graph_;
  const Locations& locations_;
  const std::vector<OpId>& steps_;
  std::unordered_set<TensorId> rows_;                      ///< roots of inputs that come by rows
  std::unordered_set<TensorId> always_read_;               ///< roots
  std::unordered_map<TensorId, size_t> made_at_;           ///< by root: its last writer
  std::unordered_map<TensorId, CommonCondition> readers_;  ///< by root
  std::unordered_map<OpId, RunCondition> found_;
};

}  // namespace

bool HasConditions(const Board& board) { return board.architecture != "cortex-m"; }

std::unordered_map<OpId, RunCondition> FindConditions(const Graph& graph,
                                                      const Locations& locations,
                                                      const std::vector<OpId>& steps,
                                                      const OutsideInputs& outside) {
  return ConditionSearch(graph, locations, steps, outside).Run();
}

void PutConditionsFirst(const Graph& graph, const Locations& locations,
                        const OutsideInputs& outside, OrderProblem& problem) {
  const auto conditions = FindConditions(graph, locations, problem.steps, outside);
  if (conditions.empty()) return;
  std::unordered_map<TensorId, std::vector<Index>> writers;  // by root
  for (Index node = 0; node < problem.steps.size(); ++node) {
    const OpId id = problem.steps[node];
    if (const auto found = conditions.find(id); found != conditions.end()) {
      std::vector<Index>& predecessors = problem.problem.nodes[node].predecessors;
      const std::vector<Index>& made = writers[locations.at(found->second.tensor).root];
      predecessors.insert(predecessors.end(), made.begin(), made.end());
      SortAndUnique(predecessors);
    }
    for (const TensorId output : graph.op(id).outputs) {
      writers[locations.at(output).root].push_back(node);
    }
  }
}

}  // namespace tenon::converter
