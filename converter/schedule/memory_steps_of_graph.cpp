#include "converter/schedule/memory_steps_of_graph.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "converter/layout/arena_plan.hpp"
#include "converter/map/backends.hpp"
#include "converter/schedule/program_problem.hpp"
#include "converter/solve/sort_and_unique.hpp"

namespace tenon::converter {
namespace {

constexpr Index kNoStorageIndex = UINT32_MAX;

class MemoryProblemMaker {
 public:
  MemoryProblemMaker(const Graph& graph, const Locations& locations, const StepTimes& times,
                     const OutsideInputs& outside)
      : graph_(graph),
        locations_(locations),
        times_(times),
        outside_(outside),
        storage_of_(locations.tensors.size(), kNoStorageIndex) {}

  StepsOfGraph Run() {
    for (const OpId id : graph_.OpOrder()) {
      if (!locations_.elided[static_cast<size_t>(id)]) AddOp(id);
    }
    std::vector<bool> is_port(result_.roots.size(), false);
    for (const Graph::Port& port : graph_.inputs()) {
      const Index s = Find(port.tensor);
      if (s == kNoStorageIndex) continue;
      is_port[s] = result_.problem.storages[s].from_start = true;
    }
    for (const Graph::Port& port : graph_.outputs()) {
      const Index s = Find(port.tensor);
      if (s == kNoStorageIndex) continue;
      is_port[s] = result_.problem.storages[s].to_end = true;
    }
    for (Index s = 0; s < result_.roots.size(); ++s) {
      MovableStorage& storage = result_.problem.storages[s];
      storage.may_move = times_.out != nullptr && !is_port[s] && IsSeenFromRoot(s);
    }
    for (RepeatableOp& op : result_.problem.ops) {
      op.may_repeat = op.may_repeat && op.writes.size() == 1 && writers_[op.writes[0]] == 1 &&
                      !is_port[op.writes[0]] &&
                      std::find(op.reads.begin(), op.reads.end(), op.writes[0]) == op.reads.end();
    }
    return std::move(result_);
  }

 private:
  void AddOp(OpId id) {
    const Op& op = graph_.op(id);
    RepeatableOp made;
    made.time = times_.run(op);
    made.may_repeat = !TakesRows(op);  // rows come once
    made.workspace = PaddedBytes(op.workspace_bytes);
    for (const TensorId input : op.inputs) Use(input, made.reads);
    for (const TensorId output : op.outputs) Use(output, made.writes);
    SortAndUnique(made.reads);
    SortAndUnique(made.writes);
    for (const Index s : made.writes) ++writers_[s];
    for (const TensorId input : op.inputs) {
      const Index s = input == kNone ? kNoStorageIndex : Find(input);
      if (s != kNoStorageIndex) read_[s].push_back(input);
    }
    for (const size_t input : HandOverInputs(graph_, locations_, op, outside_)) {
      made.hand_overs.push_back({Find(op.inputs[input]), Find(op.outputs[0])});
    }
    result_.ops.push_back(id);
    result_.problem.ops.push_back(std::move(made));
  }

  [[nodiscard]] bool TakesRows(const Op& op) const {
    return std::any_of(outside_.begin(), outside_.end(), [&](const OutsideInput& input) {
      return input.rows > 0 && !op.inputs.empty() && op.inputs[0] != kNone &&
             locations_.at(op.inputs[0]).root == input.tensor;
    });
  }

  void Use(TensorId id, std::vector<Index>& storages) {
    if (id == kNone) return;
    const TensorId root = locations_.at(id).root;
    if (graph_.tensor(root).IsConstant() || IsOutside(outside_, root)) return;
    Index& s = storage_of_[static_cast<size_t>(root)];
    if (s == kNoStorageIndex) {
      s = static_cast<Index>(result_.roots.size());
      result_.roots.push_back(root);
      MovableStorage storage;
      storage.bytes = PaddedBytes(graph_.tensor(root).ByteSize());
      if (times_.out) storage.out_time = times_.out(storage.bytes);
      if (times_.in) storage.in_time = times_.in(storage.bytes);
      result_.problem.storages.push_back(storage);
      writers_.push_back(0);
      read_.emplace_back();
    }
    storages.push_back(s);
  }

  [[nodiscard]] Index Find(TensorId id) const {
    return storage_of_[static_cast<size_t>(locations_.at(id).root)];
  }

  /// A copy has the root's bytes: what is read there must lead back to it through views.
  [[nodiscard]] bool IsSeenFromRoot(Index s) const {
    return std::all_of(read_[s].begin(), read_[s].end(), [&](TensorId id) {
      while (id != result_.roots[s]) {
        const OpId producer = graph_.tensor(id).producer;
        if (producer == kNone || !locations_.elided[static_cast<size_t>(producer)]) return false;
        const Op& op = graph_.op(producer);
        if (op.inputs.size() != 1 || locations_.at(op.inputs[0]).root != result_.roots[s]) {
          return false;
        }
        id = op.inputs[0];
      }
      return true;
    });
  }

  const Graph& graph_;
  const Locations& locations_;
  const StepTimes& times_;
  const OutsideInputs& outside_;
  StepsOfGraph result_;
  std::vector<Index> storage_of_;            ///< by root
  std::vector<int> writers_;                 ///< by storage: ops
  std::vector<std::vector<TensorId>> read_;  ///< by storage
};

class StepsWriter {
 public:
  StepsWriter(Graph& graph, const Locations& locations, const StepsOfGraph& problem)
      : graph_(graph),
        located_(locations),
        problem_(problem),
        made_(problem.roots.size(), 0),
        slow_(problem.roots.size(), kNone) {
    storage_of_.assign(locations.tensors.size(), kNoStorageIndex);
    for (Index s = 0; s < problem.roots.size(); ++s) {
      storage_of_[static_cast<size_t>(problem.roots[s])] = s;
    }
    latest_.resize(locations.tensors.size());
  }

  Result<RanSteps> Run(const std::vector<MemoryStep>& steps) {
    Index next = 0;
    for (const MemoryStep& step : steps) {
      if (step.kind == StepKind::kMoveOut) {
        TENON_RETURN_IF_ERROR(MoveOut(step.what));
      } else if (step.kind == StepKind::kMoveIn) {
        TENON_RETURN_IF_ERROR(MoveIn(step.what));
      } else if (step.what == next) {
        TENON_RETURN_IF_ERROR(RunFirst(problem_.ops[next++]));
      } else {
        TENON_RETURN_IF_ERROR(RunAgain(problem_.ops[step.what]));
      }
    }
    graph_.SetOrder(WithElidedOps(graph_, located_, order_));
    result_.steps = std::move(order_);
    return std::move(result_);
  }

 private:
  /// A tensor that stands for another since its storage was made for the `version`-th time.
  struct Latest {
    TensorId tensor = kNone;
    int version = 0;
  };

  Status RunFirst(OpId id) {
    const std::vector<TensorId> inputs = graph_.op(id).inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      TENON_ASSIGN_OR_RETURN(const TensorId now, Now(inputs[i]));
      if (now != inputs[i]) graph_.SetInput(id, i, now);
    }
    originals_.resize(std::max(originals_.size(), static_cast<size_t>(id) + 1));
    originals_[static_cast<size_t>(id)] = inputs;
    order_.push_back(id);
    return {};
  }

  Status RunAgain(OpId id) {
    TENON_ASSIGN_OR_RETURN(const OpId again, CloneOp(id, originals_[static_cast<size_t>(id)],
                                                     ".again", /*elided=*/false));
    order_.push_back(again);
    ++result_.repeated;
    const std::vector<TensorId> outputs = graph_.op(id).outputs;
    const Index s = StorageOf(outputs[0]);
    ++made_[s];
    for (size_t i = 0; i < outputs.size(); ++i) {
      latest_[static_cast<size_t>(outputs[i])] = {graph_.op(again).outputs[i], made_[s]};
    }
    return {};
  }

  Status MoveOut(Index s) {
    if (slow_[s] != kNone) return {};
    TENON_ASSIGN_OR_RETURN(const TensorId from, Now(problem_.roots[s]));
    TENON_ASSIGN_OR_RETURN(slow_[s], AddCopy(from, ".out"));
    result_.slow.push_back(slow_[s]);
    return {};
  }

  Status MoveIn(Index s) {
    if (slow_[s] == kNone) return InternalError("a storage is moved in that was not moved out");
    TENON_ASSIGN_OR_RETURN(const TensorId back, AddCopy(slow_[s], ".in"));
    latest_[static_cast<size_t>(problem_.roots[s])] = {back, ++made_[s]};
    return {};
  }

  Result<TensorId> AddCopy(TensorId from, const char* suffix) {
    const std::string name = graph_.tensor(from).name + suffix;
    TENON_ASSIGN_OR_RETURN(const OpId copy,
                           graph_.AddOp(OpKind::kCopy, name, {from}, Attributes(), {name}));
    const TensorId made = graph_.op(copy).outputs[0];
    graph_.MutableTensor(made).layout = graph_.tensor(from).layout;
    UseKernelOfNeighbour(graph_, copy);
    located_.elided.resize(static_cast<size_t>(copy) + 1, false);
    order_.push_back(copy);
    ++result_.moves;
    return made;
  }

  /// Adds the same op on what its inputs are now.
  Result<OpId> CloneOp(OpId id, const std::vector<TensorId>& inputs, const char* suffix,
                       bool elided) {
    std::vector<TensorId> now;
    for (const TensorId input : inputs) {
      TENON_ASSIGN_OR_RETURN(const TensorId operand, Now(input));
      now.push_back(operand);
    }
    const Op like = graph_.op(id);
    std::vector<std::string> names;
    for (const TensorId output : like.outputs) {
      names.push_back(graph_.tensor(output).name + suffix);
    }
    TENON_ASSIGN_OR_RETURN(
        const OpId clone, graph_.AddOp(like.kind, like.name + suffix, now, like.attributes, names));
    Op& made = graph_.MutableOp(clone);
    const std::vector<TensorId> outputs = made.outputs;
    const std::string name = made.name;
    made = like;
    made.name = name;
    made.inputs = now;
    made.outputs = outputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
      graph_.MutableTensor(outputs[i]).layout = graph_.tensor(like.outputs[i]).layout;
    }
    located_.elided.resize(static_cast<size_t>(clone) + 1, false);
    located_.elided[static_cast<size_t>(clone)] = elided;
    return clone;
  }

  [[nodiscard]] Index StorageOf(TensorId id) const {
    const auto k = static_cast<size_t>(id);
    if (id == kNone || k >= located_.tensors.size()) return kNoStorageIndex;
    return storage_of_[static_cast<size_t>(located_.tensors[k].root)];
  }

  /// Returns the tensor that has these bytes since its storage was made last. Views are made again.
  Result<TensorId> Now(TensorId id) {
    const Index s = StorageOf(id);
    if (s == kNoStorageIndex || made_[s] == 0) return id;
    const Latest known = latest_[static_cast<size_t>(id)];
    if (known.tensor != kNone && known.version == made_[s]) return known.tensor;
    const OpId producer = graph_.tensor(id).producer;
    if (producer == kNone || !located_.elided[static_cast<size_t>(producer)]) {
      return InternalError("the tensor '{}' cannot be seen on a copy", graph_.tensor(id).name);
    }
    const std::vector<TensorId> inputs = graph_.op(producer).inputs;
    TENON_ASSIGN_OR_RETURN(const OpId view, CloneOp(producer, inputs, ".again", /*elided=*/true));
    const std::vector<TensorId> outputs = graph_.op(producer).outputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
      latest_[static_cast<size_t>(outputs[i])] = {graph_.op(view).outputs[i], made_[s]};
    }
    return latest_[static_cast<size_t>(id)].tensor;
  }

  Graph& graph_;
  Locations located_;  ///< grows with the ops
  const StepsOfGraph& problem_;
  std::vector<Index> storage_of_;                 ///< by tensor that is a root
  std::vector<int> made_;                         ///< by storage: how often since its first time
  std::vector<TensorId> slow_;                    ///< by storage
  std::vector<Latest> latest_;                    ///< by tensor
  std::vector<std::vector<TensorId>> originals_;  ///< by op: inputs, as the model has them
  std::vector<OpId> order_;
  RanSteps result_;
};

}  // namespace

StepsOfGraph MakeStepsProblem(const Graph& graph, const Locations& locations,
                              const StepTimes& times, const OutsideInputs& outside) {
  return MemoryProblemMaker(graph, locations, times, outside).Run();
}

Result<RanSteps> RunSteps(Graph& graph, const Locations& locations, const StepsOfGraph& problem,
                          const std::vector<MemoryStep>& steps) {
  return StepsWriter(graph, locations, problem).Run(steps);
}

}  // namespace tenon::converter
