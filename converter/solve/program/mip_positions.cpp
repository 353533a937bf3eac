#include "converter/solve/program/mip_positions.hpp"

#include <algorithm>
#include <set>

#include "converter/solve/program/greedy_steps.hpp"

namespace tenon::converter {
namespace {

class Finder {
 public:
  Finder(const MemoryStepsProblem& problem, const PositionOptions& options)
      : problem_(problem),
        options_(options),
        writers_(RepeatableWriters(problem)),
        repeats_(problem.ops.size() + 1) {}

  std::vector<Position> Run(const std::vector<MemoryStep>& start) {
    TakeFrom(start);
    if (repeats_.size() * (repeats_.size() - 1) / 2 <= options_.most_in_all) AddAll();
    for (Index stage = 0; stage < repeats_.size(); ++stage) AddRepeats(stage);
    std::vector<Position> positions;
    for (Index stage = 0; stage < repeats_.size(); ++stage) {
      for (const Index op : repeats_[stage]) positions.push_back({stage, op, false});
      positions.push_back({stage, stage, true});
    }
    return positions;
  }

 private:
  void TakeFrom(const std::vector<MemoryStep>& start) {
    Index stage = 0;
    for (const MemoryStep& step : start) {
      if (step.kind != StepKind::kRun) continue;
      if (step.what == stage) {
        ++stage;
      } else if (repeats_[stage].insert(step.what).second) {
        ++count_;
      }
    }
  }

  void AddAll() {
    for (Index stage = 0; stage < repeats_.size(); ++stage) {
      for (const Index writer : writers_) {
        if (writer < stage && repeats_[stage].insert(writer).second) ++count_;
      }
    }
  }

  /// The op of the stage reads storages; their writers read others, and so on.
  void AddRepeats(Index stage) {
    std::vector<Index> wanted;
    if (stage < problem_.ops.size()) {
      wanted = problem_.ops[stage].reads;
    } else {
      for (Index s = 0; s < problem_.storages.size(); ++s) {
        if (problem_.storages[s].to_end) wanted.push_back(s);
      }
    }
    for (int depth = 0; depth < options_.depth; ++depth) {
      std::vector<Index> next;
      for (const Index s : wanted) {
        const Index writer = writers_[s];
        // What has just been made need not be made again.
        if (writer == kNoOp || writer + 1 >= stage) continue;
        if (repeats_[stage].size() >= options_.most_repeats || count_ >= options_.most_in_all) {
          return;
        }
        if (repeats_[stage].insert(writer).second) ++count_;
        const std::vector<Index>& reads = problem_.ops[writer].reads;
        next.insert(next.end(), reads.begin(), reads.end());
      }
      wanted = std::move(next);
    }
  }

  const MemoryStepsProblem& problem_;
  const PositionOptions& options_;
  const std::vector<Index> writers_;
  std::vector<std::set<Index>> repeats_;  ///< by stage
  size_t count_ = 0;
};

}  // namespace

std::vector<Position> FindPositions(const MemoryStepsProblem& problem,
                                    const PositionOptions& options,
                                    const std::vector<MemoryStep>& start) {
  return Finder(problem, options).Run(start);
}

}  // namespace tenon::converter
