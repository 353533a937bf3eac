#include "converter/stage/stage_units.hpp"

#include <algorithm>
#include <map>

#include "converter/solve/sort_and_unique.hpp"

namespace tenon::converter {

Result<PipelineUnits> UnitsOfPipeline(const Board& board, int threads) {
  constexpr size_t kMostUnits = 16;
  PipelineUnits units;
  for (const MemorySpace& space : board.memory_spaces) {
    if (space.spill || space.stage_constants) {
      return UsageError("a pipeline cannot be made for '{}': what does not fit '{}' goes to '{}'",
                        board.name, board.ArenaSpace()->name, space.name);
    }
  }
  for (size_t u = 0; u < board.units.size(); ++u) {
    const Unit& unit = board.units[u];
    if (unit.IsTransferOnly()) continue;
    if (board.SpaceOf(unit) != board.ArenaSpace()) {
      return UsageError("a pipeline cannot be made for '{}': '{}' runs from another memory",
                        board.name, unit.name);
    }
    const int count = unit.kind == "cpu" ? std::clamp(threads, 1, unit.threads) : 1;
    for (int i = 0; i < count && units.costs.size() < kMostUnits; ++i) {
      StageUnit cost;
      cost.start = TimeAtRate(kHandOverMicroseconds + unit.start_overhead_us(), 1e6);
      cost.same_as = i > 0 ? static_cast<int32_t>(units.costs.size()) - 1 : -1;
      units.costs.push_back(cost);
      units.board_unit.push_back(static_cast<int32_t>(u));
    }
  }
  return units;
}

StageProblem MakeStageProblem(const Graph& graph, const Locations* locations,
                              const std::vector<OpId>& steps, const PipelineUnits& units,
                              const TimeOnUnit& time) {
  StageProblem problem;
  problem.units = units.costs;
  std::map<TensorId, StageValue> values;  // by root
  const auto value_of = [&](TensorId id) -> StageValue* {
    if (id == kNone) return nullptr;
    const TensorId root = locations == nullptr ? id : locations->at(id).root;
    if (graph.tensor(root).IsConstant()) return nullptr;
    const auto [entry, is_new] = values.try_emplace(root);
    if (is_new) entry->second.bytes = graph.tensor(root).ByteSize();
    return &entry->second;
  };
  for (size_t i = 0; i < steps.size(); ++i) {
    const Op& op = graph.op(steps[i]);
    std::vector<Picoseconds> times(units.costs.size());
    for (size_t u = 0; u < times.size(); ++u) times[u] = time(steps[i], u);
    problem.time.push_back(std::move(times));
    for (const TensorId input : op.inputs) {
      if (StageValue* value = value_of(input)) value->readers.push_back(static_cast<int32_t>(i));
    }
    for (const TensorId output : op.outputs) {
      StageValue* value = value_of(output);
      // Of several writers the first: they are in one stage.
      if (value->writer < 0) value->writer = static_cast<int32_t>(i);
    }
  }
  for (const Graph::Port& port : graph.outputs()) {
    if (StageValue* value = value_of(port.tensor)) value->is_output = true;
  }
  for (auto& [root, value] : values) {
    SortAndUnique(value.readers);
    problem.values.push_back(std::move(value));
  }
  return problem;
}

}  // namespace tenon::converter
