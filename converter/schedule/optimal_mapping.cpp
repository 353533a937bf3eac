#include "converter/schedule/optimal_mapping.hpp"

#include <algorithm>
#include <utility>

#include "converter/schedule/segment_graph.hpp"
#include "converter/solve/sort_and_unique.hpp"
#include "runtime/ops/host/op_host_row.hpp"

namespace tenon::converter {
namespace {

bool IsUsuallyAView(OpKind kind) {
  const ViewKind view = GetOpHostRow(kind).view;
  return kind == OpKind::kReshape || kind == OpKind::kSlice ||
         view == ViewKind::kInputsInsideOutput;
}

class MappingProblemMaker {
 public:
  MappingProblemMaker(const Graph& graph, const KernelChoiceOptions& options)
      : graph_(graph), options_(options), board_(*options.board), marking_(options) {
    marking_.backends = BackendsOf(options);
  }

  OptimalMapProblem Make(MapObjective objective) {
    problem_.objective = objective;
    for (const Unit& unit : board_.units) {
      problem_.units.push_back({TimeAtRate(unit.start_overhead_us(), 1e6), unit.backend != "cpu"});
    }
    for (const OpId id : graph_.OpOrder()) AddOp(id);
    return std::move(problem_);
  }

 private:
  void AddOp(OpId id) {
    const Op& op = graph_.op(id);
    const auto number = static_cast<int32_t>(problem_.size());
    if (number_.size() <= static_cast<size_t>(id)) number_.resize(static_cast<size_t>(id) + 1, -1);
    number_[static_cast<size_t>(id)] = number;
    std::vector<int32_t> predecessors;
    for (const TensorId input : op.inputs) {
      if (input == kNone || graph_.tensor(input).producer == kNone) continue;
      predecessors.push_back(number_[static_cast<size_t>(graph_.tensor(input).producer)]);
    }
    SortAndUnique(predecessors);
    problem_.predecessors.push_back(std::move(predecessors));
    AddTimes(op);
    AddCrossings(op);
  }

  void AddTimes(const Op& op) {
    std::vector<Picoseconds>& times = problem_.time.emplace_back(board_.units.size(), -1);
    const Pin* pin = FindPin(options_.pins, op.name);
    for (const Mark& mark : MarkOp(graph_, op, marking_)) {
      const bool allowed =
          pin != nullptr ? mark.CanRun() && mark.backend == pin->backend : mark.IsListed();
      if (!allowed || !mark.time) continue;
      Op mapped = op;
      UseKernel(mapped, mark.backend, *mark.kernel);
      for (size_t u = 0; u < board_.units.size(); ++u) {
        if (RunsOp(board_.units[u], mapped)) times[u] = TimeOn(board_.units[u], mapped);
      }
    }
    AddInputs(op, times);
  }

  [[nodiscard]] Picoseconds TimeOn(const Unit& unit, const Op& op) const {
    if (IsUsuallyAView(op.kind)) return 0;
    return options_.costs->TimeOf(graph_, op, unit).Alone(board_.PortBytesPerSecond(unit));
  }

  /// The first reader of a graph's input pays for bringing it to its unit.
  void AddInputs(const Op& op, std::vector<Picoseconds>& times) {
    for (const TensorId input : op.inputs) {
      if (input == kNone || !graph_.IsInput(input)) continue;
      if (&graph_.op(graph_.Consumers(input).front()) != &op) continue;
      for (size_t u = 0; u < times.size(); ++u) {
        if (times[u] < 0) continue;
        times[u] += CrossingTime(board_, board_.units[u], /*to_unit=*/true,
                                 graph_.tensor(input).ByteSize());
      }
    }
  }

  void AddCrossings(const Op& op) {
    int64_t bytes = 0;
    for (const TensorId output : op.outputs) bytes += graph_.tensor(output).ByteSize();
    std::vector<Picoseconds>& leave = problem_.leave.emplace_back();
    std::vector<Picoseconds>& arrive = problem_.arrive.emplace_back();
    for (const Unit& unit : board_.units) {
      leave.push_back(CrossingTime(board_, unit, /*to_unit=*/false, bytes));
      arrive.push_back(CrossingTime(board_, unit, /*to_unit=*/true, bytes));
    }
    // The parts of a tensor that several ops have written may cross at another place.
    if (GetOpHostRow(op.kind).view == ViewKind::kInputsInsideOutput) {
      problem_.crossings_are_certain = false;
    }
  }

  const Graph& graph_;
  const KernelChoiceOptions& options_;
  const Board& board_;
  MarkOptions marking_;
  OptimalMapProblem problem_;
  std::vector<int32_t> number_;  ///< by OpId
};

}  // namespace

Result<OptimalChoice> ChooseOptimalMap(const Graph& graph, const KernelChoiceOptions& options,
                                       MapObjective objective, const OptimalMapOptions& search) {
  Graph mapped = graph;
  TENON_ASSIGN_OR_RETURN(const std::vector<MappedOp> table, ChooseKernels(mapped, options));
  const OptimalMapProblem problem = MappingProblemMaker(graph, options).Make(objective);
  std::vector<int32_t> table_unit;
  for (const OpId id : mapped.OpOrder()) {
    const Unit* unit = UnitFor(*options.board, mapped.op(id));
    table_unit.push_back(static_cast<int32_t>(unit - options.board->units.data()));
  }
  OptimalChoice choice;
  choice.map = FindOptimalMap(problem, table_unit, search);
  choice.differs = choice.map.unit != table_unit;
  const std::vector<OpId> order = graph.OpOrder();
  for (size_t i = 0; i < order.size(); ++i) {
    const auto id = static_cast<size_t>(order[i]);
    if (choice.backend.size() <= id) choice.backend.resize(id + 1);
    if (choice.unit.size() <= id) choice.unit.resize(id + 1);
    const Unit& unit = options.board->units[static_cast<size_t>(choice.map.unit[i])];
    choice.backend[id] = unit.backend;
    choice.unit[id] = unit.name;
  }
  return choice;
}

}  // namespace tenon::converter
