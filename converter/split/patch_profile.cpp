#include "converter/split/patch_profile.hpp"

#include <algorithm>
#include <numeric>

#include "runtime/ops/op_table.hpp"

namespace tenon::converter {
namespace {

class Profiler {
 public:
  Profiler(const Graph& graph, const GraphOrder& order) : graph_(graph), order_(order) {
    root_.resize(order.last_use.size());
    std::iota(root_.begin(), root_.end(), TensorId{0});
  }

  /// Joins tensors that share bytes.
  void Join() {
    for (size_t position = 0; position < order_.ops.size(); ++position) {
      const Op& op = graph_.op(order_.ops[position]);
      if (op.outputs.size() != 1) continue;
      switch (op.kind) {
        case OpKind::kReshape:
        case OpKind::kTranspose:
        case OpKind::kSlice:
          if (!graph_.tensor(op.inputs[0]).IsConstant()) Unite(op.inputs[0], op.outputs[0]);
          break;
        case OpKind::kConcat:
          for (const TensorId input : op.inputs) {
            if (MayLieInside(input)) Unite(input, op.outputs[0]);
          }
          break;
        default:
          HandOver(op, static_cast<int64_t>(position));
      }
    }
  }

  TensorId Root(TensorId id) {
    auto& root = root_;
    while (At(root, id) != id) id = At(root, id) = At(root, At(root, id));
    return id;
  }

 private:
  static TensorId& At(std::vector<TensorId>& values, TensorId id) {
    return values[static_cast<size_t>(id)];
  }

  [[nodiscard]] bool MayLieInside(TensorId id) const {
    return graph_.tensor(id).producer != kNone && !graph_.IsOutput(id);
  }

  void Unite(TensorId a, TensorId b) { At(root_, Root(a)) = Root(b); }

  void HandOver(const Op& op, int64_t position) {
    const Tensor& output = graph_.tensor(op.outputs[0]);
    const uint32_t allowed = GetOpRow(op.kind).in_place_inputs;
    for (size_t i = 0; i < op.inputs.size() && i < 32; ++i) {
      const TensorId id = op.inputs[i];
      if ((allowed >> i & 1U) == 0 || id == kNone || !MayLieInside(id)) continue;
      const Tensor& input = graph_.tensor(id);
      if (input.shape != output.shape || input.dtype != output.dtype) continue;
      if (order_.last_use[static_cast<size_t>(id)] != position) continue;
      Unite(id, op.outputs[0]);
      return;
    }
  }

  const Graph& graph_;
  const GraphOrder& order_;
  std::vector<TensorId> root_;
};

struct Storage {
  int64_t begin = INT64_MAX;
  int64_t last = -1;
  int64_t bytes = 0;
};

}  // namespace

LiveProfile::LiveProfile(const Graph& graph, const GraphOrder& order) {
  Profiler profiler(graph, order);
  profiler.Join();
  const auto steps = static_cast<int64_t>(order.ops.size());
  std::vector<Storage> storages(order.last_use.size());
  const auto touch = [&](TensorId id, int64_t position) {
    Storage& storage = storages[static_cast<size_t>(profiler.Root(id))];
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
  for (const Storage& storage : storages) {
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
  storage_begin.assign(order.last_use.size(), INT64_MAX);
  for (size_t id = 0; id < storage_begin.size(); ++id) {
    storage_begin[id] =
        storages[static_cast<size_t>(profiler.Root(static_cast<TensorId>(id)))].begin;
  }
}

}  // namespace tenon::converter
