#include <algorithm>
#include <map>

#include "converter/layout/arena_plan.hpp"
#include "converter/schedule/program_problem.hpp"
#include "converter/solve/order/memory_order.hpp"
#include "converter/solve/sort_and_unique.hpp"

namespace tenon::converter {
namespace {

constexpr Index kNoIndex = UINT32_MAX;

class OrderProblemMaker {
 public:
  OrderProblemMaker(const Graph& graph, const Locations& locations, const OutsideInputs& outside)
      : graph_(graph),
        locations_(locations),
        outside_(outside),
        storage_of_(locations.tensors.size(), kNoIndex),
        writers_(locations.tensors.size()) {}

  OrderProblem Run() {
    for (const OpId id : graph_.OpOrder()) {
      if (locations_.elided[static_cast<size_t>(id)]) {
        PassOn(graph_.op(id));
      } else {
        AddStep(id);
      }
    }
    for (const Graph::Port& port : graph_.inputs()) {
      if (MemoryStorage* storage = FindStorage(port.tensor)) storage->from_start = true;
    }
    for (const Graph::Port& port : graph_.outputs()) {
      if (MemoryStorage* storage = FindStorage(port.tensor)) storage->to_end = true;
    }
    AddUntouchedInputs();
    return std::move(result_);
  }

 private:
  std::vector<Index>& WritersOf(TensorId id) { return writers_[static_cast<size_t>(id)]; }

  /// Returns the nodes that write what the op reads.
  std::vector<Index> WritersOfInputs(const Op& op) {
    std::vector<Index> writers;
    for (const TensorId input : op.inputs) {
      if (input == kNone) continue;
      writers.insert(writers.end(), WritersOf(input).begin(), WritersOf(input).end());
    }
    SortAndUnique(writers);
    return writers;
  }

  /// An elided op's output is complete when its inputs are.
  void PassOn(const Op& op) {
    const std::vector<Index> writers = WritersOfInputs(op);
    for (const TensorId output : op.outputs) WritersOf(output) = writers;
  }

  void AddStep(OpId id) {
    const Op& op = graph_.op(id);
    MemoryNode node;
    node.predecessors = WritersOfInputs(op);
    FollowRows(op, node.predecessors);
    for (const TensorId input : op.inputs) Touch(node, input);
    for (const TensorId output : op.outputs) Touch(node, output);
    SortAndUnique(node.storages);
    node.transient_bytes = PaddedBytes(op.workspace_bytes);
    for (const size_t input : HandOverInputs(graph_, locations_, op, outside_)) {
      node.hand_overs.push_back({StorageOf(op.inputs[input]), StorageOf(op.outputs[0])});
    }
    const auto number = static_cast<Index>(result_.steps.size());
    for (const TensorId output : op.outputs) WritersOf(output) = {number};
    result_.steps.push_back(id);
    result_.problem.nodes.push_back(std::move(node));
  }

  /// Rows are copied in the order in which they come.
  void FollowRows(const Op& op, std::vector<Index>& predecessors) {
    if (op.inputs.empty() || op.inputs[0] == kNone) return;
    const TensorId root = locations_.at(op.inputs[0]).root;
    for (const OutsideInput& input : outside_) {
      if (input.rows == 0 || input.tensor != root) continue;
      const auto [last, first] =
          last_rows_.try_emplace(root, static_cast<Index>(result_.steps.size()));
      if (first) return;
      predecessors.push_back(last->second);
      SortAndUnique(predecessors);
      last->second = static_cast<Index>(result_.steps.size());
    }
  }

  void Touch(MemoryNode& node, TensorId id) {
    if (id == kNone) return;
    const TensorId root = locations_.at(id).root;
    if (graph_.tensor(root).IsConstant() || IsOutside(outside_, root)) return;
    node.storages.push_back(StorageOf(id));
  }

  Index StorageOf(TensorId id) {
    const TensorId root = locations_.at(id).root;
    Index& storage = storage_of_[static_cast<size_t>(root)];
    if (storage == kNoIndex) {
      storage = static_cast<Index>(result_.problem.storages.size());
      result_.problem.storages.push_back(
          {PaddedBytes(graph_.tensor(root).ByteSize()), false, false});
    }
    return storage;
  }

  /// Handles inputs that no executed op reads, even through views: the placer keeps their bytes
  /// separate from what the first step touches, and until the end where the input is an output too.
  void AddUntouchedInputs() {
    std::vector<TensorId> roots;
    for (const Graph::Port& port : graph_.inputs()) {
      const TensorId root = locations_.at(port.tensor).root;
      if (FindStorage(port.tensor) == nullptr && !IsOutside(outside_, root)) roots.push_back(root);
    }
    SortAndUnique(roots);
    std::vector<TensorId> output_roots;
    for (const Graph::Port& port : graph_.outputs()) {
      output_roots.push_back(locations_.at(port.tensor).root);
    }
    SortAndUnique(output_roots);
    MemoryProblem& problem = result_.problem;
    for (const TensorId root : roots) {
      const bool to_end = std::binary_search(output_roots.begin(), output_roots.end(), root);
      (to_end ? problem.base_bytes : problem.first_node_bytes) +=
          PaddedBytes(graph_.tensor(root).ByteSize());
    }
  }

  /// Returns null for what no step touches.
  MemoryStorage* FindStorage(TensorId id) {
    const Index storage = storage_of_[static_cast<size_t>(locations_.at(id).root)];
    return storage == kNoIndex ? nullptr : &result_.problem.storages[storage];
  }

  const Graph& graph_;
  const Locations& locations_;
  const OutsideInputs& outside_;
  OrderProblem result_;
  std::vector<Index> storage_of_;            ///< by root tensor
  std::map<TensorId, Index> last_rows_;      ///< by input: the last node that copies rows of it
  std::vector<std::vector<Index>> writers_;  ///< by tensor: nodes that must be done before a reader
};

/// Emits ops, elided producers of their inputs first.
class Sequencer {
 public:
  Sequencer(const Graph& graph, const Locations& locations)
      : graph_(graph), emitted_(locations.elided.size(), false) {}

  /// Iterative: chains of views can be as long as the graph.
  void Emit(OpId id) {
    std::vector<OpId> stack = {id};
    while (!stack.empty()) {
      const OpId op = stack.back();
      const size_t before = stack.size();
      if (!emitted_[static_cast<size_t>(op)]) PushProducers(op, stack);
      if (stack.size() > before) continue;
      stack.pop_back();
      if (emitted_[static_cast<size_t>(op)]) continue;
      emitted_[static_cast<size_t>(op)] = true;
      order_.push_back(op);
    }
  }
  [[nodiscard]] std::vector<OpId> Take() { return std::move(order_); }

 private:
  void PushProducers(OpId id, std::vector<OpId>& stack) const {
    for (const TensorId input : graph_.op(id).inputs) {
      if (input == kNone) continue;
      const OpId producer = graph_.tensor(input).producer;
      if (producer != kNone && !emitted_[static_cast<size_t>(producer)]) stack.push_back(producer);
    }
  }

  const Graph& graph_;
  std::vector<bool> emitted_;
  std::vector<OpId> order_;
};

}  // namespace

OrderProblem MakeOrderProblem(const Graph& graph, const Locations& locations,
                              const OutsideInputs& outside) {
  return OrderProblemMaker(graph, locations, outside).Run();
}

std::vector<OpId> WithElidedOps(const Graph& graph, const Locations& locations,
                                const std::vector<OpId>& steps) {
  Sequencer sequencer(graph, locations);
  for (const OpId id : steps) sequencer.Emit(id);
  for (const OpId id : graph.OpOrder()) sequencer.Emit(id);
  return sequencer.Take();
}

std::vector<std::string> KeyNodeNames(const Graph& graph, const OrderProblem& problem) {
  std::vector<std::string> names;
  for (const Index node : KeyNodesOf(problem.problem)) {
    names.push_back(graph.op(problem.steps[node]).name);
  }
  return names;
}

std::vector<Index> NodesOf(const OrderProblem& problem, const std::vector<OpId>& steps) {
  std::map<OpId, Index> node_of_op;
  for (Index node = 0; node < problem.steps.size(); ++node) node_of_op[problem.steps[node]] = node;
  std::vector<Index> nodes;
  for (const OpId step : steps) {
    const auto found = node_of_op.find(step);
    if (found != node_of_op.end()) nodes.push_back(found->second);
  }
  return nodes;
}

}  // namespace tenon::converter
