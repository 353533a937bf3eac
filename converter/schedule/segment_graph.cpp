#include "converter/schedule/segment_graph.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "converter/schedule/program_problem.hpp"

namespace tenon::converter {
namespace {

/// Adds to each node the time for its operands to cross.
class Crossings {
 public:
  Crossings(const Graph& graph, const Locations& locations, const Board& board,
            SegmentGraph& result)
      : graph_(graph), locations_(locations), board_(board), result_(result) {}

  void Add() {
    result_.crossing.assign(result_.op_of_node.size(), 0);
    writer_unit_.assign(locations_.tensors.size(), kNone);
    for (const Graph::Port& port : graph_.outputs()) {
      output_roots_.insert(locations_.at(port.tensor).root);
    }
    for (size_t node = 0; node < result_.op_of_node.size(); ++node) AddReads(node);
    for (size_t node = 0; node < result_.op_of_node.size(); ++node) AddWrites(node);
    for (size_t node = 0; node < result_.op_of_node.size(); ++node) {
      result_.problem.duration[node] += result_.crossing[node];
    }
  }

 private:
  [[nodiscard]] int32_t UnitOf(size_t node) const { return result_.problem.ops.unit[node]; }
  [[nodiscard]] const Unit& BoardUnit(int32_t unit) const {
    return board_.units[static_cast<size_t>(unit)];
  }

  void AddReads(size_t node) {
    const Op& op = graph_.op(result_.op_of_node[node]);
    const int32_t unit = UnitOf(node);
    for (const TensorId input : op.inputs) {
      if (input == kNone) continue;
      const TensorId root = locations_.at(input).root;
      if (graph_.tensor(root).IsConstant()) continue;
      const int32_t writer = writer_unit_[static_cast<size_t>(root)];
      if (writer == unit || !brought_.emplace(input, unit).second) continue;
      result_.crossing[node] +=
          CrossingTime(board_, BoardUnit(unit), true, graph_.tensor(input).ByteSize());
      if (writer != kNone) leaves_.emplace(root, writer);
    }
    for (const TensorId output : op.outputs) {
      writer_unit_[static_cast<size_t>(locations_.at(output).root)] = unit;
    }
  }

  void AddWrites(size_t node) {
    const int32_t unit = UnitOf(node);
    for (const TensorId output : graph_.op(result_.op_of_node[node]).outputs) {
      const TensorId root = locations_.at(output).root;
      if (!output_roots_.contains(root) && !leaves_.contains({root, unit})) continue;
      result_.crossing[node] +=
          CrossingTime(board_, BoardUnit(unit), false, graph_.tensor(output).ByteSize());
    }
  }

  const Graph& graph_;
  const Locations& locations_;
  const Board& board_;
  SegmentGraph& result_;
  std::set<TensorId> output_roots_;
  std::vector<int32_t> writer_unit_;                ///< by root: of its last writer so far
  std::set<std::pair<TensorId, int32_t>> brought_;  ///< tensors that a unit has fetched
  std::set<std::pair<TensorId, int32_t>> leaves_;   ///< roots that others read
};

}  // namespace

Picoseconds CrossingTime(const Board& board, const Unit& unit, bool to_unit, int64_t bytes) {
  const MemorySpace& arena = *board.ArenaSpace();
  const MemorySpace* own = board.SpaceOf(unit);
  if (own == nullptr || own == &arena) return 0;
  const Link* link =
      to_unit ? board.FindLink(arena.name, own->name) : board.FindLink(own->name, arena.name);
  if (link == nullptr) return 0;
  const OpTime time = TransferTime(board, *link, bytes);
  return time.fixed + time.compute;
}

bool RunsInSegments(const Graph& graph, const Locations& locations, const Board& board) {
  if (MemoryOf(board).slow != nullptr) return false;
  const std::vector<OpId> order = graph.OpOrder();
  return std::any_of(order.begin(), order.end(), [&](OpId id) {
    return !locations.elided[static_cast<size_t>(id)] && graph.op(id).backend != "cpu";
  });
}

Result<SegmentGraph> MakeSegmentGraph(const Graph& graph, const Locations& locations,
                                      const Board& board, const CostModel& model,
                                      const std::vector<int32_t>& unit_of_op) {
  ProblemOptions options;
  options.unit_of_op = &unit_of_op;
  TENON_ASSIGN_OR_RETURN(ProgramProblem program,
                         MakeProgramProblem(graph, locations, board, model, options));
  SegmentGraph result;
  for (const Unit& unit : board.units) {
    result.problem.units.push_back(
        {TimeAtRate(unit.start_overhead_us(), 1e6), unit.backend != "cpu"});
  }
  for (const TimeTask& task : program.problem.tasks) {
    result.problem.ops.unit.push_back(static_cast<int32_t>(task.unit));
    result.problem.ops.predecessors.emplace_back(task.predecessors.begin(),
                                                 task.predecessors.end());
    result.problem.duration.push_back(task.duration);
  }
  result.op_of_node = std::move(program.op_of_task);
  result.memory = MakeOrderProblem(graph, locations).problem;
  result.time = std::move(program.problem);
  Crossings(graph, locations, board, result).Add();
  for (size_t node = 0; node < result.problem.size(); ++node) {
    result.time.tasks[node].duration = result.problem.duration[node];
  }
  return result;
}

Picoseconds SegmentBound(const SegmentProblem& problem) {
  std::vector<Picoseconds> end(problem.size(), 0);
  std::vector<Picoseconds> busy(problem.units.size(), 0);
  Picoseconds bound = 0;
  for (size_t op = 0; op < problem.size(); ++op) {
    const auto here = static_cast<size_t>(problem.ops.unit[op]);
    const Picoseconds start = problem.units[here].waits_at_start ? problem.units[here].start : 0;
    if (problem.ops.predecessors[op].empty()) end[op] = start;
    for (const int32_t p : problem.ops.predecessors[op]) {
      const auto before = static_cast<size_t>(p);
      const bool crosses = problem.ops.unit[before] != problem.ops.unit[op];
      end[op] = std::max(end[op], end[before] + (crosses ? start : 0));
    }
    end[op] += problem.duration[op];
    bound = std::max(bound, end[op]);
    Picoseconds& unit = busy[here];
    if (unit == 0) unit = problem.units[here].start;
    unit += problem.duration[op];
  }
  for (const Picoseconds unit : busy) bound = std::max(bound, unit);
  return bound;
}

}  // namespace tenon::converter
