#include "converter/layout/arena_plan.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "converter/layout/grow_workspaces.hpp"
#include "converter/layout/storage_chains.hpp"
#include "converter/layout/storage_parts.hpp"
#include "converter/map/backends.hpp"
#include "converter/solve/sort_and_unique.hpp"
#include "runtime/ops/host/op_table.hpp"

namespace tenon::converter {
namespace {

class ArenaPlanner {
 public:
  ArenaPlanner(const Graph& graph, const Locations& locations, const ArenaOptions& options)
      : graph_(graph),
        locations_(locations),
        options_(options),
        chains_(graph, locations, plan_, options.memo.get()),
        storage_of_root_(locations.tensors.size(), kNoStorage) {
    for (const OpId id : graph.OpOrder()) {
      if (!locations.elided[static_cast<size_t>(id)]) plan_.steps.push_back(id);
    }
    chains_.SetGroups(options.groups);
    plan_.outside = options.outside;
    end_ = static_cast<int64_t>(plan_.steps.size());
  }

  ArenaPlan Run() {
    MeasureLifetimes();
    const auto storage_of = [&](TensorId id) { return StorageOf(id); };
    if (options_.in_place) {
      for (int64_t step = 0; step < end_; ++step) chains_.HandOver(step, storage_of);
    }
    for (int64_t step = 0; step < end_; ++step) chains_.AddWorkspace(step);
    std::vector<size_t> all(plan_.storages.size());
    std::iota(all.begin(), all.end(), size_t{0});
    Place(all);
    return std::move(plan_);
  }

 private:
  void Place(const std::vector<size_t>& all) {
    std::vector<Following> following;
    if (options_.follow && plan_.groups.empty()) {
      chains_.SetParts(PartsOf(graph_, locations_, plan_));
      following = chains_.Useful(all, FindFollowing(graph_, locations_, plan_));
    }
    Placement placement =
        chains_.Place(all, following.empty() ? options_.place : Shortened(), following);
    if (!following.empty()) {
      // Storages that lie on each other lie at the beginning, which may be in others' way.
      const ArenaPlan follows = plan_;
      PlaceOptions options = options_.place;
      options.only_below = placement.peak + 1;
      Placement apart = chains_.Place(all, options);
      if (apart.peak <= placement.peak) {
        placement = std::move(apart);
      } else {
        plan_.storages = follows.storages;
        placement.proven_optimal = false;  // of these pairs alone
      }
    }
    plan_.bytes = placement.peak;
    plan_.lower_bound = placement.lower_bound;
    plan_.proven_optimal = placement.proven_optimal;
    if (options_.follow && plan_.groups.empty() && graph_.states.empty()) PlaceOverParts();
  }

  /// Returns less effort, for where no bound says when a placement is the best: what is found
  /// later is little.
  [[nodiscard]] PlaceOptions Shortened() const {
    constexpr int64_t kShare = 8;
    PlaceOptions options = options_.place;
    options.work_budget /= kShare;
    return options;
  }

  /// Places tensors first, then workspaces over what is not written yet or no longer used of them;
  /// keeps that if the arena is smaller.
  void PlaceOverParts() {
    std::vector<size_t> tensors;
    for (size_t i = 0; i < plan_.storages.size(); ++i) {
      if (plan_.storages[i].workspace_of == kNone) tensors.push_back(i);
    }
    if (tensors.size() == plan_.storages.size()) return;
    const std::vector<Following> pairs =
        chains_.Useful(tensors, FindFollowing(graph_, locations_, plan_));
    ArenaPlan best = plan_;
    for (const bool follow : {true, false}) {
      if (follow && pairs.empty()) continue;
      PlaceOptions options = Shortened();
      options.only_below = best.bytes;
      const Placement placement =
          chains_.Place(tensors, options, follow ? pairs : std::vector<Following>());
      const int64_t bytes =
          std::max(placement.peak, PlaceWorkspacesOverParts(graph_, locations_, plan_));
      if (bytes >= best.bytes) continue;
      best.storages = plan_.storages;
      best.bytes = bytes;
      best.lower_bound = std::min(best.lower_bound, placement.lower_bound);
      best.proven_optimal = false;
    }
    best.place_work = plan_.place_work;
    plan_ = std::move(best);
  }

  [[nodiscard]] TensorId Root(TensorId id) const { return locations_.at(id).root; }

  /// Returns kNoStorage for an outside input.
  size_t StorageOf(TensorId id) {
    if (IsOutside(options_.outside, Root(id))) return kNoStorage;
    size_t& storage = storage_of_root_[static_cast<size_t>(Root(id))];
    if (storage == kNoStorage) storage = chains_.AddRoot(Root(id));
    return storage;
  }

  void Touch(TensorId id, int64_t step) {
    if (id == kNone || graph_.tensor(Root(id)).IsConstant()) return;
    const size_t storage = StorageOf(id);
    if (storage != kNoStorage) chains_.Touch(storage, step);
  }

  void MeasureLifetimes() {
    for (const Graph::Port& port : graph_.inputs()) Touch(port.tensor, 0);
    for (int64_t step = 0; step < end_; ++step) {
      const Op& op = graph_.op(plan_.steps[static_cast<size_t>(step)]);
      for (const TensorId id : op.inputs) Touch(id, step);
      for (const TensorId id : op.outputs) Touch(id, step);
    }
    for (const Graph::Port& port : graph_.outputs()) {
      Touch(port.tensor, std::max<int64_t>(end_ - 1, 0));
    }
  }

  const Graph& graph_;
  const Locations& locations_;
  const ArenaOptions& options_;
  ArenaPlan plan_;
  StorageChains chains_;
  std::vector<size_t> storage_of_root_;
  int64_t end_ = 0;
};

/// Returns inputs (bit mask) that the op's kind or its kernel allows the output to take over.
uint32_t AllowedInputs(const Op& op) {
  const uint32_t by_kernel = op.caps == nullptr ? 0 : CapsOf(op).in_place_inputs;
  return GetOpRow(op.kind).in_place_inputs | by_kernel;
}

/// Returns whether the other inputs allow it. Another operand on the same bytes is read at other
/// times than this one, unless it too may be taken over and is the same window: x + x is allowed,
/// but not x + (a row of x), nor conv(x) + x.
bool OtherInputsAllow(const Graph& graph, const Locations& locations, const Op& op, size_t input) {
  const uint32_t allowed = AllowedInputs(op);
  const TensorId source = op.inputs[input];
  const Location& where = locations.at(source);
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const TensorId other = op.inputs[i];
    if (i == input || other == kNone || locations.at(other).root != where.root) continue;
    if (i >= 32 || (allowed >> i & 1U) == 0 ||
        graph.tensor(other).shape != graph.tensor(source).shape ||
        locations.at(other).offset != where.offset ||
        locations.at(other).strides != where.strides) {
      return false;
    }
  }
  return true;
}

bool MayTakeOver(const Graph& graph, const Locations& locations, const Op& op, size_t input) {
  const TensorId source = op.inputs[input];
  if (source == kNone) return false;
  const Location& where = locations.at(source);
  if (graph.tensor(where.root).IsConstant()) return false;
  const Tensor& from = graph.tensor(source);
  const Tensor& to = graph.tensor(op.outputs[0]);
  if (from.dtype != to.dtype || from.shape != to.shape || where.offset != 0 ||
      graph.tensor(where.root).ByteSize() != to.ByteSize() ||
      where.strides != locations.at(op.outputs[0]).strides) {
    return false;
  }
  for (const Graph::Port& port : graph.outputs()) {
    if (locations.at(port.tensor).root == where.root) return false;
  }
  return OtherInputsAllow(graph, locations, op, input);
}

}  // namespace

std::vector<size_t> HandOverInputs(const Graph& graph, const Locations& locations, const Op& op,
                                   const OutsideInputs& outside) {
  std::vector<size_t> inputs;
  const uint32_t allowed = AllowedInputs(op);
  if (allowed == 0 || op.outputs.size() != 1 || locations.at(op.outputs[0]).root != op.outputs[0]) {
    return inputs;
  }
  for (size_t i = 0; i < op.inputs.size() && i < 32; ++i) {
    if ((allowed >> i & 1U) == 0 || !MayTakeOver(graph, locations, op, i)) continue;
    if (!IsOutside(outside, locations.at(op.inputs[i]).root)) inputs.push_back(i);
  }
  return inputs;
}

LargestOp FindLargestOp(const Graph& graph, const Locations& locations,
                        const std::vector<OpId>& steps, const ArenaOptions& options) {
  LargestOp largest;
  for (const OpId id : steps) {
    const Op& op = graph.op(id);
    std::map<TensorId, int64_t> roots;
    for (const auto* operands : {&op.inputs, &op.outputs}) {
      for (const TensorId operand : *operands) {
        if (operand == kNone) continue;
        const TensorId root = locations.at(operand).root;
        if (graph.tensor(root).IsConstant() || IsOutside(options.outside, root)) continue;
        int64_t& bytes = roots[root];
        // Of several windows the largest is there at least.
        bytes = options.follow ? std::max(bytes, graph.tensor(operand).ByteSize())
                               : graph.tensor(root).ByteSize();
      }
    }
    int64_t bytes = op.workspace_bytes;
    for (const auto& root : roots) bytes += root.second;
    // The output then has the bytes of that input.
    if (!HandOverInputs(graph, locations, op, options.outside).empty()) {
      bytes -= graph.tensor(op.outputs[0]).ByteSize();
    }
    if (bytes > largest.bytes) largest = {id, bytes};
  }
  return largest;
}

ArenaPlan PlanArena(const Graph& graph, const Locations& locations, const ArenaOptions& options) {
  return ArenaPlanner(graph, locations, options).Run();
}

}  // namespace tenon::converter
