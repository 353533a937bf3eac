#include "converter/stage/stage_arenas.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "converter/layout/storage_chains.hpp"

namespace tenon::converter {
namespace {

class StagePlanner {
 public:
  StagePlanner(const StagedGraph& staged, int32_t stages, const ArenaOptions& options)
      : graph_(staged.graph),
        locations_(staged.locations),
        staged_(staged),
        stages_(static_cast<size_t>(stages)),
        options_(options),
        chains_(staged.graph, staged.locations, result_.plan),
        first_step_(stages_, 0),
        last_step_(stages_, 0) {
    plan().steps = staged.steps;
  }

  StageArenas Run() {
    NumberSteps();
    TouchPorts();
    for (size_t step = 0; step < plan().steps.size(); ++step) TouchOperands(step);
    AddWorkspaces();
    KeepForFallback();
    HandOver();
    for (size_t stage = 0; stage < stages_; ++stage) PlaceStage(static_cast<int32_t>(stage));
    PlaceRings();
    SetDepths(std::vector<int32_t>(result_.channels.size(), 1), result_);
    return std::move(result_);
  }

 private:
  /// The uses of a storage.
  struct Use {
    int32_t writer = -1;       ///< stage
    int32_t last_reader = -1;  ///< stage, at least `writer`
    bool is_input = false;
    bool is_kept = false;  ///< some segment needs it unchanged to run again
  };

  ArenaPlan& plan() { return result_.plan; }
  [[nodiscard]] int32_t StageOf(size_t step) const {
    return staged_.stage_of_op[static_cast<size_t>(staged_.steps[step])];
  }

  void NumberSteps() {
    for (size_t step = 0; step < plan().steps.size(); ++step) {
      const auto stage = static_cast<size_t>(StageOf(step));
      const bool begins = step == 0 || StageOf(step - 1) != StageOf(step);
      if (begins) first_step_[stage] = static_cast<int64_t>(step);
      last_step_[stage] = static_cast<int64_t>(step);
    }
  }

  /// Returns the storage of a tensor that is no constant.
  size_t StorageOf(TensorId id) {
    const TensorId root = locations_.at(id).root;
    const auto found = storage_of_root_.find(root);
    if (found != storage_of_root_.end()) return found->second;
    uses_.emplace_back();
    return storage_of_root_[root] = chains_.AddRoot(root);
  }
  [[nodiscard]] bool IsConstant(TensorId id) const {
    return graph_.tensor(locations_.at(id).root).IsConstant();
  }

  void TouchPorts() {
    for (const Graph::Port& port : graph_.inputs()) uses_[StorageOf(port.tensor)].is_input = true;
    for (const Graph::Port& port : graph_.outputs()) StorageOf(port.tensor);
  }

  void TouchOperands(size_t step) {
    const Op& op = graph_.op(plan().steps[step]);
    const int32_t stage = StageOf(step);
    const auto touch = [&](TensorId id, bool writes) {
      if (id == kNone || IsConstant(id)) return;
      const size_t storage = StorageOf(id);
      chains_.Touch(storage, static_cast<int64_t>(step));
      Use& use = uses_[storage];
      if (writes || use.is_input) use.writer = stage;
      use.last_reader = std::max(use.last_reader, stage);
    };
    for (const TensorId input : op.inputs) touch(input, false);
    for (const TensorId output : op.outputs) touch(output, true);
  }

  void AddWorkspaces() {
    for (size_t step = 0; step < plan().steps.size(); ++step) {
      if (chains_.AddWorkspace(static_cast<int64_t>(step)) == kNoStorage) continue;
      Use& use = uses_.emplace_back();
      use.writer = use.last_reader = StageOf(step);
    }
    // Ports belong to the caller before and after a stage's steps; untouched ones belong to stage
    // 0.
    for (const bool output : {false, true}) {
      for (const Graph::Port& port : output ? graph_.outputs() : graph_.inputs()) {
        if (IsConstant(port.tensor)) continue;
        const size_t index = StorageOf(port.tensor);
        Use& use = uses_[index];
        if (use.writer < 0) use.writer = use.last_reader = 0;
        const auto stage = static_cast<size_t>(use.writer);
        chains_.Touch(index, (output ? last_step_ : first_step_)[stage]);
      }
    }
  }

  /// Segments are runs of ops of one stage and backend, as the emitter writes them.
  [[nodiscard]] size_t EndOfSegment(size_t begin) const {
    const auto backend = [&](size_t step) { return graph_.op(staged_.steps[step]).backend; };
    size_t end = begin + 1;
    while (end < staged_.steps.size() && StageOf(end) == StageOf(begin) &&
           backend(end) == backend(begin)) {
      ++end;
    }
    return end;
  }

  void KeepForFallback() {
    for (size_t begin = 0; begin < staged_.steps.size(); begin = EndOfSegment(begin)) {
      if (!graph_.op(staged_.steps[begin]).fallback_kernel.empty()) {
        KeepForFallback(begin, EndOfSegment(begin));
      }
    }
  }

  void KeepForFallback(size_t begin, size_t end) {
    PlannedStorage scratch;
    scratch.first_step = static_cast<int64_t>(begin);
    scratch.last_step = static_cast<int64_t>(end) - 1;
    for (size_t step = begin; step < end; ++step) {
      const Op& op = graph_.op(staged_.steps[step]);
      for (const TensorId input : op.inputs) {
        if (input == kNone || IsConstant(input)) continue;
        const size_t storage = StorageOf(input);
        if (plan().storages[storage].first_step >= static_cast<int64_t>(begin) &&
            !uses_[storage].is_input) {
          continue;  // made here
        }
        uses_[storage].is_kept = true;
        if (IsPrivate(storage)) chains_.Touch(storage, scratch.last_step);
      }
      if (op.fallback_workspace_bytes == 0) continue;
      scratch.fallback_of.push_back(staged_.steps[step]);
      scratch.bytes = std::max(scratch.bytes, op.fallback_workspace_bytes);
    }
    if (scratch.fallback_of.empty()) return;
    chains_.Add(std::move(scratch));
    Use& use = uses_.emplace_back();
    use.writer = use.last_reader = StageOf(begin);
  }

  [[nodiscard]] bool IsPrivate(size_t storage) const {
    return uses_[storage].writer == uses_[storage].last_reader;
  }

  /// Inside a stage, lets outputs take over inputs that they use last.
  void HandOver() {
    if (!options_.in_place) return;
    const auto storage_of = [&](TensorId id) { return StorageOf(id); };
    const auto may = [&](size_t from, size_t to) {
      return IsPrivate(from) && IsPrivate(to) && !uses_[from].is_input && !uses_[from].is_kept;
    };
    for (size_t step = 0; step < plan().steps.size(); ++step) {
      chains_.HandOver(static_cast<int64_t>(step), storage_of, may);
    }
  }

  void PlaceStage(int32_t stage) {
    std::vector<size_t> storages;
    for (size_t i = 0; i < plan().storages.size(); ++i) {
      if (IsPrivate(i) && uses_[i].writer == stage) storages.push_back(i);
    }
    result_.arena_of_stage.push_back(-1);
    if (storages.empty()) return;
    const auto arena = static_cast<int32_t>(plan().arenas.size());
    result_.arena_of_stage.back() = arena;
    PlaceOptions options = options_.place;
    options.work_budget /= static_cast<int64_t>(stages_);
    const Placement placement = chains_.Place(storages, options);
    for (const size_t i : storages) plan().storages[i].arena = arena;
    plan().arenas.push_back({"", std::max<int64_t>(placement.peak, 1), placement.lower_bound,
                             placement.proven_optimal, 1});
  }

  void PlaceRings() {
    std::map<std::pair<int32_t, int32_t>, std::vector<size_t>> rings;
    for (size_t i = 0; i < plan().storages.size(); ++i) {
      if (!IsPrivate(i)) rings[{uses_[i].writer, uses_[i].last_reader}].push_back(i);
    }
    for (const auto& [ends, storages] : rings) {
      PlannedArena arena;
      arena.proven_optimal = true;
      PlannedChannel channel;
      channel.from = ends.first;
      channel.to = ends.second;
      channel.arena = static_cast<int32_t>(plan().arenas.size());
      for (const size_t i : storages) {
        plan().storages[i].arena = channel.arena;
        plan().storages[i].offset = arena.bytes;
        // Empty storages have an address in the arena too.
        arena.bytes += PaddedBytes(std::max<int64_t>(plan().storages[i].bytes, 1));
        AddWritten(plan().storages[i].root, channel);
      }
      arena.lower_bound = arena.bytes;
      plan().arenas.push_back(arena);
      result_.channels.push_back(std::move(channel));
    }
  }

  /// Adds the tensors on `root` that ops write.
  void AddWritten(TensorId root, PlannedChannel& channel) const {
    for (const OpId id : staged_.steps) {
      for (const TensorId output : graph_.op(id).outputs) {
        if (locations_.at(output).root == root) channel.tensors.push_back(output);
      }
    }
  }

  const Graph& graph_;
  const Locations& locations_;
  const StagedGraph& staged_;
  size_t stages_;
  const ArenaOptions& options_;
  StageArenas result_;
  StorageChains chains_;
  std::vector<Use> uses_;  ///< by storage
  std::map<TensorId, size_t> storage_of_root_;
  std::vector<int64_t> first_step_, last_step_;  ///< by stage
};

}  // namespace

StageArenas PlanStageArenas(const StagedGraph& staged, int32_t stages,
                            const ArenaOptions& options) {
  return StagePlanner(staged, stages, options).Run();
}

void SetDepths(const std::vector<int32_t>& depth_of_channel, StageArenas& arenas) {
  for (size_t i = 0; i < arenas.channels.size(); ++i) {
    arenas.plan.arenas[static_cast<size_t>(arenas.channels[i].arena)].slots = depth_of_channel[i];
  }
  ArenaPlan& plan = arenas.plan;
  plan.bytes = plan.lower_bound = 0;
  plan.proven_optimal = true;
  for (const PlannedArena& arena : plan.arenas) {
    // As the plan's schema says: what follows a slot is aligned, what follows the arena is not.
    const bool ring = arena.slots > 1;
    plan.bytes += ring ? arena.slots * PaddedBytes(arena.bytes) : arena.bytes;
    plan.lower_bound += ring ? arena.slots * PaddedBytes(arena.lower_bound) : arena.lower_bound;
    plan.proven_optimal = plan.proven_optimal && arena.proven_optimal;
  }
}

}  // namespace tenon::converter
