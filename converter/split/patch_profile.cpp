#include "converter/split/patch_profile.hpp"

#include <algorithm>
#include <numeric>

#include "runtime/ops/host/op_table.hpp"

namespace tenon::converter {
namespace {

/// Groups of tensors that share bytes: through views and, if `in_place`, through ops in place.
class Groups {
 public:
  Groups(const Graph& graph, const GraphOrder& order, WaitingParts waiting, bool in_place)
      : graph_(graph), order_(order), waiting_(waiting), read_(order.last_use.size(), -1) {
    root_.resize(order.last_use.size());
    std::iota(root_.begin(), root_.end(), TensorId{0});
    for (size_t position = 0; position < order_.ops.size(); ++position) {
      const Op& op = graph_.op(order_.ops[position]);
      if (op.outputs.size() == 1) Join(op, static_cast<int64_t>(position), in_place);
      for (const TensorId input : op.inputs) {
        if (input != kNone) read_[static_cast<size_t>(input)] = static_cast<int64_t>(position);
      }
    }
  }

  [[nodiscard]] bool has_waiting_parts() const { return has_waiting_parts_; }

  TensorId Root(TensorId id) {
    auto& root = root_;
    while (At(root, id) != id) id = At(root, id) = At(root, At(root, id));
    return id;
  }

  /// Returns true for an input in memory of the caller's own, and for views of it.
  bool IsOutside(TensorId id) {
    return std::any_of(order_.outside.begin(), order_.outside.end(),
                       [&](const OutsideInput& input) { return Root(input.tensor) == Root(id); });
  }

 private:
  static TensorId& At(std::vector<TensorId>& values, TensorId id) {
    return values[static_cast<size_t>(id)];
  }

  void Join(const Op& op, int64_t position, bool in_place) {
    const uint32_t views = order_.ViewInputs(graph_, op);
    for (size_t i = 0; i < op.inputs.size() && i < 32; ++i) {
      const TensorId input = op.inputs[i];
      if ((views >> i & 1U) == 0 || graph_.tensor(input).IsConstant()) continue;
      if (op.kind == OpKind::kConcat && !IsJoined(input, position)) continue;
      Unite(input, op.outputs[0]);
    }
    if (in_place && views == 0) HandOver(op, position);
  }

  /// A graph input is never a part of something else.
  [[nodiscard]] bool IsJoined(TensorId part, int64_t position) {
    constexpr int64_t kLongWait = 4;  // ops
    if (!MayLieInside(part) || IsOutside(part)) return false;
    const int64_t last_read = read_[static_cast<size_t>(part)];
    const bool waits = last_read >= 0 && position - last_read > kLongWait;
    has_waiting_parts_ = has_waiting_parts_ || waits;
    return !waits || waiting_ == WaitingParts::kInside;
  }

  [[nodiscard]] bool MayLieInside(TensorId id) const {
    return graph_.tensor(id).producer != kNone && !graph_.IsOutput(id);
  }

  void Unite(TensorId a, TensorId b) { At(root_, Root(a)) = Root(b); }

  void HandOver(const Op& op, int64_t position) {
    const Tensor& output = graph_.tensor(op.outputs[0]);
    const uint32_t allowed = order_.in_place_inputs[static_cast<size_t>(position)];
    for (size_t i = 0; i < op.inputs.size() && i < 32; ++i) {
      const TensorId id = op.inputs[i];
      if ((allowed >> i & 1U) == 0 || id == kNone || !MayLieInside(id)) continue;
      if (IsOutside(id)) continue;
      const Tensor& input = graph_.tensor(id);
      if (input.shape != output.shape || input.dtype != output.dtype) continue;
      if (order_.last_use[static_cast<size_t>(id)] != position) continue;
      Unite(id, op.outputs[0]);
      return;
    }
  }

  const Graph& graph_;
  const GraphOrder& order_;
  WaitingParts waiting_;
  std::vector<int64_t> read_;  ///< by TensorId: the last position so far that reads it; -1: none
  std::vector<TensorId> root_;
  bool has_waiting_parts_ = false;
};

struct Lifetime {
  int64_t begin = INT64_MAX;
  int64_t last = -1;
  int64_t bytes = 0;
};

}  // namespace

LiveProfile::LiveProfile(const Graph& graph, const GraphOrder& order, WaitingParts waiting) {
  Groups groups(graph, order, waiting, /*in_place=*/true);
  has_waiting_parts = groups.has_waiting_parts();
  const auto steps = static_cast<int64_t>(order.ops.size());
  std::vector<Lifetime> lifetimes(order.last_use.size());
  const auto touch = [&](TensorId id, int64_t position) {
    if (groups.IsOutside(id)) return;
    Lifetime& storage = lifetimes[static_cast<size_t>(groups.Root(id))];
    storage.begin = std::min(storage.begin, position);
    storage.last = std::max({storage.last, order.last_use[static_cast<size_t>(id)], position});
    storage.bytes = std::max(storage.bytes, graph.tensor(id).ByteSize());
  };
  for (const Graph::Port& port : graph.inputs()) touch(port.tensor, -1);
  for (int64_t position = 0; position < steps; ++position) {
    for (const TensorId id : graph.op(order.ops[static_cast<size_t>(position)]).outputs) {
      touch(id, position);
    }
  }
  std::vector<int64_t> change(static_cast<size_t>(steps + 2), 0);
  std::vector<int64_t> crossing(static_cast<size_t>(steps + 2), 0);
  for (const Lifetime& storage : lifetimes) {
    if (storage.begin == INT64_MAX) continue;
    const int64_t last = std::min(storage.last, steps);
    change[static_cast<size_t>(std::max<int64_t>(storage.begin, 0))] += storage.bytes;
    change[static_cast<size_t>(last + 1)] -= storage.bytes;
    // Before position p: begun earlier, needed at p or later.
    crossing[static_cast<size_t>(storage.begin + 1)] += storage.bytes;
    crossing[static_cast<size_t>(std::max(last, storage.begin) + 1)] -= storage.bytes;
  }
  int64_t live = 0;
  int64_t across = 0;
  for (int64_t position = 0; position <= steps; ++position) {
    live += change[static_cast<size_t>(position)];
    across += crossing[static_cast<size_t>(position)];
    entering.push_back(across);
    if (position == steps) break;
    at_step.push_back(live);
    peak = std::max(peak, live);
  }
  FindStorages(graph, order, waiting);
}

void LiveProfile::FindStorages(const Graph& graph, const GraphOrder& order, WaitingParts waiting) {
  Groups groups(graph, order, waiting, /*in_place=*/false);
  storages.resize(order.last_use.size());
  const auto touch = [&](TensorId id, int64_t position) {
    if (groups.IsOutside(id)) return;
    Storage& storage = storages[static_cast<size_t>(groups.Root(id))];
    storage.begin = std::min(storage.begin, position);
    storage.bytes = std::max(storage.bytes, graph.tensor(id).ByteSize());
    storage.last = std::max(storage.last, order.last_use[static_cast<size_t>(id)]);
  };
  for (const Graph::Port& port : graph.inputs()) touch(port.tensor, -1);
  for (size_t position = 0; position < order.ops.size(); ++position) {
    for (const TensorId id : graph.op(order.ops[position]).outputs) {
      touch(id, static_cast<int64_t>(position));
    }
  }
  for (size_t id = 0; id < storages.size(); ++id) {
    const TensorId root = groups.Root(static_cast<TensorId>(id));
    storages[id] = storages[static_cast<size_t>(root)];
    storages[id].root = root;
  }
}

}  // namespace tenon::converter
