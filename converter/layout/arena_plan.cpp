#include "converter/layout/arena_plan.hpp"

#include <algorithm>
#include <numeric>

#include "converter/map/backends.hpp"
#include "runtime/ops/host/op_table.hpp"

namespace tenon::converter {
namespace {

class ArenaPlanner {
 public:
  ArenaPlanner(const Graph& graph, const Locations& locations, const ArenaOptions& options)
      : graph_(graph), locations_(locations), options_(options) {}

  ArenaPlan Run() {
    NumberSteps();
    MeasureLifetimes();
    group_.resize(plan_.storages.size());
    std::iota(group_.begin(), group_.end(), size_t{0});
    if (options_.in_place) {
      for (size_t step = 0; step < plan_.steps.size(); ++step) HandOver(static_cast<int64_t>(step));
    }
    AddWorkspaces();
    Place();
    return std::move(plan_);
  }

 private:
  void NumberSteps() {
    OpId last = kNone;
    for (const OpId id : graph_.OpOrder()) {
      last = std::max(last, id);
      if (!locations_.elided[static_cast<size_t>(id)]) plan_.steps.push_back(id);
    }
    plan_.in_place.assign(static_cast<size_t>(last + 1), -1);
  }

  [[nodiscard]] TensorId Root(TensorId id) const { return locations_.at(id).root; }

  size_t StorageOf(TensorId id) {
    const TensorId root = Root(id);
    const auto k = static_cast<size_t>(root);
    if (storage_of_root_.size() <= k) storage_of_root_.resize(k + 1, kNoStorage);
    if (storage_of_root_[k] == kNoStorage) {
      storage_of_root_[k] = plan_.storages.size();
      PlannedStorage storage;
      storage.root = root;
      storage.bytes = graph_.tensor(root).ByteSize();
      storage.first_step = INT64_MAX;
      storage.last_step = -1;
      plan_.storages.push_back(storage);
    }
    return storage_of_root_[k];
  }

  void Touch(TensorId id, int64_t step) {
    if (graph_.tensor(Root(id)).IsConstant()) return;
    PlannedStorage& storage = plan_.storages[StorageOf(id)];
    storage.first_step = std::min(storage.first_step, step);
    storage.last_step = std::max(storage.last_step, step);
  }

  void MeasureLifetimes() {
    for (const Graph::Port& port : graph_.inputs()) Touch(port.tensor, 0);
    for (size_t step = 0; step < plan_.steps.size(); ++step) {
      const Op& op = graph_.op(plan_.steps[step]);
      for (const TensorId id : op.inputs) {
        if (id != kNone) Touch(id, static_cast<int64_t>(step));
      }
      for (const TensorId id : op.outputs) Touch(id, static_cast<int64_t>(step));
    }
    const int64_t end = std::max<int64_t>(static_cast<int64_t>(plan_.steps.size()) - 1, 0);
    for (const Graph::Port& port : graph_.outputs()) Touch(port.tensor, end);
  }

  /// Lets the op's output take over an input that dies here.
  void HandOver(int64_t step) {
    const OpId id = plan_.steps[static_cast<size_t>(step)];
    const Op& op = graph_.op(id);
    for (const size_t i : HandOverInputs(graph_, locations_, op)) {
      const size_t from = StorageOf(op.inputs[i]);
      const size_t to = StorageOf(op.outputs[0]);
      if (plan_.storages[from].last_step != step || plan_.storages[to].first_step != step) continue;
      group_[to] = group_[from];
      plan_.in_place[static_cast<size_t>(id)] = static_cast<int>(i);
      return;
    }
  }

  void AddWorkspaces() {
    for (size_t step = 0; step < plan_.steps.size(); ++step) {
      const OpId id = plan_.steps[step];
      if (graph_.op(id).workspace_bytes == 0) continue;
      PlannedStorage storage;
      storage.workspace_of = id;
      storage.bytes = graph_.op(id).workspace_bytes;
      storage.first_step = storage.last_step = static_cast<int64_t>(step);
      group_.push_back(plan_.storages.size());
      plan_.storages.push_back(storage);
    }
  }

  /// One buffer per group of storages that hand over to each other.
  void Place() {
    std::vector<size_t> buffer_of_group(plan_.storages.size(), kNoStorage);
    std::vector<Buffer> buffers;
    for (size_t i = 0; i < plan_.storages.size(); ++i) {
      const PlannedStorage& storage = plan_.storages[i];
      size_t& index = buffer_of_group[group_[i]];
      if (index == kNoStorage) {
        index = buffers.size();
        buffers.push_back({storage.first_step, storage.last_step + 1, storage.bytes,
                           kStorageAlignment, std::nullopt});
        continue;
      }
      Buffer& buffer = buffers[index];
      buffer.lower = std::min(buffer.lower, storage.first_step);
      buffer.upper = std::max(buffer.upper, storage.last_step + 1);
      buffer.size = std::max(buffer.size, storage.bytes);
    }
    const Placement placement = PlaceBuffers(buffers, options_.place);
    for (size_t i = 0; i < plan_.storages.size(); ++i) {
      plan_.storages[i].offset = placement.offsets[buffer_of_group[group_[i]]];
    }
    plan_.bytes = placement.peak;
    plan_.lower_bound = placement.lower_bound;
    plan_.proven_optimal = placement.proven_optimal;
    plan_.place_work = placement.work;
  }

  static constexpr size_t kNoStorage = SIZE_MAX;
  const Graph& graph_;
  const Locations& locations_;
  const ArenaOptions& options_;
  ArenaPlan plan_;
  std::vector<size_t> storage_of_root_;
  std::vector<size_t> group_;  ///< by storage: the first storage of its hand-over chain
};

/// Inputs (bit mask) that the op's kind or its kernel allows the output to take over.
uint32_t AllowedInputs(const Op& op) {
  const uint32_t by_kernel = op.caps == nullptr ? 0 : CapsOf(op).in_place_inputs;
  return GetOpRow(op.kind).in_place_inputs | by_kernel;
}

/// Another operand on the same bytes is read at other times than this one, unless it too may be
/// taken over and is the same window: x + x, but not x + (a row of x), nor conv(x) + x.
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

std::vector<size_t> HandOverInputs(const Graph& graph, const Locations& locations, const Op& op) {
  std::vector<size_t> inputs;
  const uint32_t allowed = AllowedInputs(op);
  if (allowed == 0 || op.outputs.size() != 1 || locations.at(op.outputs[0]).root != op.outputs[0]) {
    return inputs;
  }
  for (size_t i = 0; i < op.inputs.size() && i < 32; ++i) {
    if ((allowed >> i & 1U) != 0 && MayTakeOver(graph, locations, op, i)) inputs.push_back(i);
  }
  return inputs;
}

ArenaPlan PlanArena(const Graph& graph, const Locations& locations, const ArenaOptions& options) {
  return ArenaPlanner(graph, locations, options).Run();
}

}  // namespace tenon::converter
