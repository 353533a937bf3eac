#include "converter/schedule/program_problem.hpp"

#include <algorithm>
#include <numeric>

#include "converter/layout/arena_plan.hpp"
#include "converter/solve/sort_and_unique.hpp"
#include "runtime/ops/host/op_table.hpp"

namespace tenon::converter {
namespace {

constexpr Index kNobody = UINT32_MAX;

class ProgramProblemMaker {
 public:
  ProgramProblemMaker(const Graph& graph, const Locations& locations, const Board& board,
                      const CostModel& model, const ProblemOptions& options)
      : graph_(graph),
        locations_(locations),
        board_(board),
        model_(model),
        options_(options),
        memory_(MemoryOf(board)),
        writers_(locations.tensors.size()),
        storage_of_root_(locations.tensors.size(), kNobody) {
    result_.value_of_tensor.assign(locations.tensors.size(), kNobody);
    result_.base.resize(locations.tensors.size());
    std::iota(result_.base.begin(), result_.base.end(), TensorId{0});
  }

  Result<ProgramProblem> Run() {
    result_.problem.units = static_cast<Index>(board_.units.size());
    // Addresses are handed out from both ends of it.
    result_.problem.fast_bytes =
        memory_.fast->usable_bytes() / kStorageAlignment * kStorageAlignment;
    result_.problem.may_move_out = memory_.slow != nullptr;
    std::vector<std::string> refused;
    for (const OpId id : graph_.OpOrder()) {
      if (locations_.elided[static_cast<size_t>(id)]) {
        AddView(graph_.op(id));
      } else if (!AddTask(id)) {
        refused.push_back(
            fmt::format("{} ({})", graph_.op(id).name, GetOpRow(graph_.op(id).kind).name));
      }
    }
    if (!refused.empty()) {
      Error error = InputError("no unit of the board '{}' runs {} op(s) of this model", board_.name,
                               refused.size());
      error.details = std::move(refused);
      return error;
    }
    AddPorts();
    return std::move(result_);
  }

 private:
  /// A task and the tensor that it writes.
  struct Writer {
    Index task;
    TensorId tensor;
  };

  std::vector<Writer>& WritersOf(TensorId id) { return writers_[static_cast<size_t>(id)]; }
  TensorId& BaseOf(TensorId id) { return result_.base[static_cast<size_t>(id)]; }
  [[nodiscard]] TensorId RootOf(TensorId id) const { return locations_.at(id).root; }

  /// An elided op's output is complete when its inputs are.
  void AddView(const Op& op) {
    std::vector<Writer> all;
    for (const TensorId input : op.inputs) {
      if (input == kNone) continue;
      all.insert(all.end(), WritersOf(input).begin(), WritersOf(input).end());
    }
    for (const TensorId output : op.outputs) WritersOf(output) = all;
    if (op.inputs.size() != 1 || op.outputs.size() != 1) return;
    const TensorId base = BaseOf(op.inputs[0]);
    const Tensor& moved = graph_.tensor(base);
    if (RootOf(base) == RootOf(op.outputs[0]) &&
        moved.ByteSize() == graph_.tensor(op.outputs[0]).ByteSize() &&
        locations_.at(base).strides == DenseStrides(moved.shape, moved.layout)) {
      BaseOf(op.outputs[0]) = base;
    }
  }

  [[nodiscard]] const Unit* UnitOf(OpId id) const {
    const auto k = static_cast<size_t>(id);
    const std::vector<int32_t>* given = options_.unit_of_op;
    if (given == nullptr || k >= given->size() || (*given)[k] == kNone) {
      return UnitFor(board_, graph_.op(id));
    }
    return &board_.units[static_cast<size_t>((*given)[k])];
  }

  bool AddTask(OpId id) {
    const Op& op = graph_.op(id);
    const Unit* unit = UnitOf(id);
    if (unit == nullptr) return false;
    const auto number = static_cast<Index>(result_.op_of_task.size());
    TimeTask task;
    task.unit = static_cast<Index>(unit - board_.units.data());
    // At least 1, so that what comes later in order also comes later in time.
    task.duration = std::max<Picoseconds>(
        1, model_.TimeOf(graph_, op, *unit).Alone(board_.PortBytesPerSecond(*unit)));
    task.transient_bytes = PaddedBytes(op.workspace_bytes);
    for (const TensorId input : op.inputs) {
      if (input != kNone) AddRead(task, input);
    }
    for (const TensorId output : op.outputs) {
      WritersOf(output) = {{number, output}};
      const Index value = ValueOf(output);
      result_.problem.values[value].parts = {value};
      task.writes.push_back(value);
    }
    SortAndUnique(task.predecessors);
    SortAndUnique(task.reads);
    if (options_.in_place) {
      for (const size_t input : HandOverInputs(graph_, locations_, op)) {
        const Index from = StorageOf(RootOf(op.inputs[input]));
        const Index to = StorageOf(RootOf(op.outputs[0]));
        task.hand_overs.push_back({from, to});
      }
    }
    result_.op_of_task.push_back(id);
    result_.problem.tasks.push_back(std::move(task));
    return true;
  }

  void AddRead(TimeTask& task, TensorId input) {
    const TensorId base = BaseOf(input);
    std::vector<Index> parts;
    for (const Writer& writer : WritersOf(base)) {
      // Tensors without bytes overlap nothing but must keep their order.
      const bool empty =
          graph_.tensor(writer.tensor).ByteSize() == 0 || graph_.tensor(base).ByteSize() == 0;
      if (!empty && RootOf(writer.tensor) == RootOf(base)) {
        if (!MayOverlap(graph_, locations_, writer.tensor, base)) continue;
        parts.push_back(ValueOf(writer.tensor));
      }
      task.predecessors.push_back(writer.task);
    }
    if (graph_.tensor(base).ByteSize() == 0) return;  // nothing to hold or move
    if (graph_.tensor(RootOf(base)).IsConstant() && !memory_.stage_constants) return;
    const Index value = ValueOf(base);
    if (result_.problem.values[value].parts.empty()) {
      SortAndUnique(parts);
      result_.problem.values[value].from_start =
          parts.empty() && IsSlow(result_.problem.values[value].storage);
      result_.problem.values[value].parts = std::move(parts);
    }
    task.reads.push_back(value);
  }

  [[nodiscard]] bool IsSlow(Index storage) const { return result_.problem.storages[storage].slow; }

  Index ValueOf(TensorId id) {
    Index& value = result_.value_of_tensor[static_cast<size_t>(id)];
    if (value == kNobody) {
      value = static_cast<Index>(result_.problem.values.size());
      TimeValue made;
      made.storage = StorageOf(RootOf(id));
      const int64_t bytes = graph_.tensor(id).ByteSize();
      made.bytes = PaddedBytes(bytes);
      made.fetch_time = TransferOf(memory_.fetch_link, bytes);
      made.store_time = TransferOf(memory_.store_link, bytes);
      result_.problem.values.push_back(std::move(made));
      result_.tensor_of_value.push_back(id);
    }
    return value;
  }

  [[nodiscard]] Picoseconds TransferOf(int32_t link, int64_t bytes) const {
    if (link == kNone) return 1;
    const OpTime time = TransferTime(board_, board_.links[static_cast<size_t>(link)], bytes);
    return std::max<Picoseconds>(1, time.fixed + time.compute);
  }

  Index StorageOf(TensorId root) {
    Index& storage = storage_of_root_[static_cast<size_t>(root)];
    if (storage == kNobody) {
      storage = static_cast<Index>(result_.problem.storages.size());
      TimeStorage made;
      made.bytes = PaddedBytes(graph_.tensor(root).ByteSize());
      const bool must_be_slow = graph_.tensor(root).IsConstant() || IsPort(root) ||
                                made.bytes > result_.problem.fast_bytes;
      made.slow =
          memory_.slow != nullptr && (must_be_slow || made.bytes > options_.largest_fast_root);
      result_.fixed.push_back(memory_.slow == nullptr || must_be_slow);
      result_.problem.storages.push_back(made);
      result_.root_of_storage.push_back(root);
    }
    return storage;
  }

  /// A root that users read or write.
  bool IsPort(TensorId root) {
    if (port_roots_.empty()) {
      port_roots_.assign(locations_.tensors.size(), false);
      for (const auto* ports : {&graph_.inputs(), &graph_.outputs()}) {
        for (const Graph::Port& port : *ports) {
          port_roots_[static_cast<size_t>(RootOf(port.tensor))] = true;
        }
      }
    }
    return port_roots_[static_cast<size_t>(root)];
  }

  void AddPorts() {
    for (const Graph::Port& port : graph_.inputs()) {
      const Index storage = storage_of_root_[static_cast<size_t>(RootOf(port.tensor))];
      if (storage != kNobody) result_.problem.storages[storage].from_start = !IsSlow(storage);
    }
    std::vector<bool> to_end(result_.problem.storages.size(), false);
    for (const Graph::Port& port : graph_.outputs()) {
      const Index storage = storage_of_root_[static_cast<size_t>(RootOf(port.tensor))];
      if (storage == kNobody) continue;
      to_end[storage] = IsSlow(storage);
      result_.problem.storages[storage].to_end = !IsSlow(storage);
    }
    for (const TimeTask& task : result_.problem.tasks) {
      for (const Index v : task.writes) {
        TimeValue& value = result_.problem.values[v];
        value.to_end = to_end[value.storage];
      }
    }
  }

  const Graph& graph_;
  const Locations& locations_;
  const Board& board_;
  const CostModel& model_;
  const ProblemOptions& options_;
  const BoardMemory memory_;
  ProgramProblem result_;
  std::vector<std::vector<Writer>> writers_;  ///< by tensor
  std::vector<Index> storage_of_root_;
  std::vector<bool> port_roots_;
};

}  // namespace

BoardMemory MemoryOf(const Board& board) {
  BoardMemory memory;
  memory.fast = board.ArenaSpace();
  for (const MemorySpace& space : board.memory_spaces) {
    if (&space == memory.fast || !(space.spill || space.stage_constants)) continue;
    BoardMemory found = memory;
    for (size_t i = 0; i < board.links.size(); ++i) {
      const Link& link = board.links[i];
      const Unit* mover = board.FindUnit(link.unit);
      if (mover == nullptr || !mover->IsTransferOnly()) continue;
      if (link.from == space.name && link.to == memory.fast->name) {
        found.fetch_link = static_cast<int32_t>(i);
      }
      if (link.from == memory.fast->name && link.to == space.name) {
        found.store_link = static_cast<int32_t>(i);
      }
    }
    if (found.fetch_link == kNone || found.store_link == kNone) continue;
    found.slow = &space;
    found.stage_constants = space.stage_constants;
    return found;
  }
  return memory;
}

Result<ProgramProblem> MakeProgramProblem(const Graph& graph, const Locations& locations,
                                          const Board& board, const CostModel& model,
                                          const ProblemOptions& options) {
  return ProgramProblemMaker(graph, locations, board, model, options).Run();
}

}  // namespace tenon::converter
