#include "converter/solve/stage/stage_problem.hpp"

#include <algorithm>

namespace tenon::converter {

void MeasureCut(const StageProblem& problem, StageCut& cut) {
  const size_t stages = cut.unit_of_stage.size();
  cut.stage_time.assign(stages, 0);
  std::vector<int64_t> reads(stages, 0);
  std::vector<int64_t> writes(stages, 0);
  for (size_t op = 0; op < problem.ops(); ++op) {
    const auto stage = static_cast<size_t>(cut.stage_of_op[op]);
    cut.stage_time[stage] += problem.time[op][static_cast<size_t>(cut.unit_of_stage[stage])];
  }
  cut.traffic = 0;
  for (const StageValue& value : problem.values) {
    const int32_t from = value.writer < 0 ? -1 : cut.stage_of_op[static_cast<size_t>(value.writer)];
    uint32_t readers = 0;  // a bit per stage
    for (const int32_t reader : value.readers) {
      const int32_t stage = cut.stage_of_op[static_cast<size_t>(reader)];
      if (stage != from) readers |= 1U << stage;
    }
    for (size_t stage = 0; stage < stages; ++stage) {
      if ((readers >> stage & 1U) != 0) reads[stage] += value.bytes;
    }
    if (from < 0) continue;
    if (readers != 0) cut.traffic += value.bytes;
    if (readers != 0 || value.is_output) writes[static_cast<size_t>(from)] += value.bytes;
  }
  std::vector<Picoseconds> busy(problem.units.size(), 0);
  cut.latency = 0;
  for (size_t stage = 0; stage < stages; ++stage) {
    const auto u = static_cast<size_t>(cut.unit_of_stage[stage]);
    const StageUnit& unit = problem.units[u];
    cut.stage_time[stage] +=
        unit.start + TimeAtRate(static_cast<double>(reads[stage]), unit.read_bytes_per_second) +
        TimeAtRate(static_cast<double>(writes[stage]), unit.write_bytes_per_second);
    busy[u] += cut.stage_time[stage];
    cut.latency += cut.stage_time[stage];
  }
  cut.period = busy.empty() ? 0 : *std::max_element(busy.begin(), busy.end());
}

bool IsValidCut(const StageProblem& problem, const StageCut& cut) {
  std::vector<bool> used(cut.unit_of_stage.size(), false);
  for (size_t op = 0; op < problem.ops(); ++op) {
    const auto stage = static_cast<size_t>(cut.stage_of_op[op]);
    if (stage >= used.size()) return false;
    used[stage] = true;
    if (!problem.Runs(op, static_cast<size_t>(cut.unit_of_stage[stage]))) return false;
  }
  for (const StageValue& value : problem.values) {
    if (value.writer < 0) continue;
    for (const int32_t reader : value.readers) {
      if (cut.stage_of_op[static_cast<size_t>(reader)] <
          cut.stage_of_op[static_cast<size_t>(value.writer)]) {
        return false;
      }
    }
  }
  return std::find(used.begin(), used.end(), false) == used.end();
}

}  // namespace tenon::converter
