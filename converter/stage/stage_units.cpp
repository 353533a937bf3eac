#include "converter/stage/stage_units.hpp"

#include <algorithm>
#include <map>

#include "converter/cost/cost_model.hpp"
#include "converter/solve/sort_and_unique.hpp"

namespace tenon::converter {
namespace {

/// Returns what a stage on the unit pays for what crosses between its memory and the arena's. A
/// device with memory of its own fetches what it reads and brings back what others read itself, a
/// copy each way at least.
Result<StageUnit> CrossingsOf(const Board& board, const Unit& unit) {
  StageUnit cost;
  const MemorySpace* own = board.SpaceOf(unit);
  const MemorySpace* arena = board.ArenaSpace();
  if (own == arena) return cost;
  const Link* there = own == nullptr ? nullptr : board.FindLink(arena->name, own->name);
  const Link* back = own == nullptr ? nullptr : board.FindLink(own->name, arena->name);
  if (unit.backend == "cpu" || there == nullptr || back == nullptr) {
    return UsageError(
        "a pipeline cannot be made for '{}': '{}' runs from another memory, and has no links of "
        "its own to '{}'",
        board.name, unit.name, arena->name);
  }
  cost.start = TransferTime(board, *there, 0).fixed + TransferTime(board, *back, 0).fixed;
  cost.read_bytes_per_second = there->bandwidth_bytes_per_second;
  cost.write_bytes_per_second = back->bandwidth_bytes_per_second;
  return cost;
}

}  // namespace

Result<PipelineUnits> UnitsOfPipeline(const Board& board, int threads) {
  constexpr size_t kMostUnits = 16;
  PipelineUnits units;
  for (size_t u = 0; u < board.units.size(); ++u) {
    const Unit& unit = board.units[u];
    if (unit.IsTransferOnly()) continue;
    TENON_ASSIGN_OR_RETURN(const StageUnit own, CrossingsOf(board, unit));
    const int count = unit.kind == "cpu" ? std::clamp(threads, 1, unit.threads) : 1;
    for (int i = 0; i < count && units.costs.size() < kMostUnits; ++i) {
      StageUnit cost = own;
      cost.start += TimeAtRate(kHandOverMicroseconds + unit.start_overhead_us(), 1e6);
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
