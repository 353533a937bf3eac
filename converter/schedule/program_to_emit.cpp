#include "converter/schedule/program_to_emit.hpp"

#include <unordered_map>

namespace tenon::converter {

std::vector<std::vector<OpId>> SegmentsOf(const ProgramToEmit& program) {
  if (program.schedule != nullptr && !program.schedule->segments.empty()) {
    return program.schedule->segments;
  }
  std::unordered_map<OpId, size_t> worker;
  for (size_t i = 0; program.schedule != nullptr && i < program.schedule->workers.size(); ++i) {
    for (const ScheduledStep& step : program.schedule->workers[i]) worker[step.op] = i;
  }
  std::vector<std::vector<OpId>> segments;
  for (const OpId id : program.arena->steps) {
    const OpId before = segments.empty() ? kNone : segments.back().back();
    const bool starts = before == kNone || worker[id] != worker[before] ||
                        program.graph->op(id).backend != program.graph->op(before).backend;
    if (starts) segments.emplace_back();
    segments.back().push_back(id);
  }
  return segments;
}

}  // namespace tenon::converter
