#include <algorithm>
#include <utility>

#include "converter/solve/stage/balance.hpp"
#include "converter/solve/stage/cut_stages.hpp"

namespace tenon::converter {
namespace {

class Improver {
 public:
  Improver(const StageProblem& problem, const BoundaryOptions& options, StageCut& cut)
      : problem_(problem), options_(options), cut_(cut) {
    before_.resize(problem.ops());
    after_.resize(problem.ops());
    for (const StageValue& value : problem.values) {
      if (value.writer < 0) continue;
      for (const int32_t reader : value.readers) {
        after_[static_cast<size_t>(value.writer)].push_back(reader);
        before_[static_cast<size_t>(reader)].push_back(value.writer);
      }
    }
  }

  void Run() {
    MeasureCut(problem_, cut_);
    const StageCut start = cut_;
    while (Round([&](const StageCut& tried) { return tried.period < cut_.period; })) {
    }
    const auto limit = static_cast<Picoseconds>(static_cast<double>(cut_.period) *
                                                (1 + std::max(options_.slack, 0.0)));
    while (Round([&](const StageCut& tried) {
      return tried.traffic < cut_.traffic && tried.period <= limit;
    })) {
    }
    if (cut_.period >= start.period && cut_.traffic > start.traffic) cut_ = start;
    if (options_.even_out) EvenOut(limit);
  }

 private:
  /// One move fills the shortest stage from its neighbour, others fill that one: squares tell that
  /// each of them is a step forward.
  void EvenOut(Picoseconds most_period) {
    constexpr double kWorthwhile = 0.02;  // less would only undo what saved traffic
    const StageCut start = cut_;
    while (Round([&](const StageCut& tried) {
      return tried.period <= most_period && tried.stage_time.size() == cut_.stage_time.size() &&
             SumOfSquares(tried) < SumOfSquares(cut_) * (1 - 1e-6);
    })) {
    }
    if (BalanceRate(cut_) < BalanceRate(start) + kWorthwhile) cut_ = start;
  }

  static double SumOfSquares(const StageCut& cut) {
    double sum = 0;
    for (const Picoseconds time : cut.stage_time) {
      sum += static_cast<double>(time) * static_cast<double>(time);
    }
    return sum;
  }

  /// Tries every op in both directions; returns true if one was moved.
  template <typename IsBetter>
  bool Round(const IsBetter& is_better) {
    bool moved = false;
    const auto cut_stages = static_cast<int32_t>(cut_.unit_of_stage.size());
    for (size_t op = 0; op < problem_.ops(); ++op) {
      for (const int32_t step : {1, -1}) {
        if (options_.work_budget <= work_) return false;
        const std::vector<int32_t> group = GroupOf(static_cast<int32_t>(op), step);
        if (group.empty()) continue;
        StageCut tried = cut_;
        for (const int32_t member : group) tried.stage_of_op[static_cast<size_t>(member)] += step;
        DropEmptyStages(tried);
        const auto stages = static_cast<int32_t>(tried.unit_of_stage.size());
        if (stages < std::min(problem_.least_stages, cut_stages)) continue;
        MeasureCut(problem_, tried);
        work_ += static_cast<int64_t>(problem_.ops() + problem_.values.size());
        if (!is_better(tried)) continue;
        cut_ = std::move(tried);
        moved = true;
      }
    }
    return moved;
  }

  /// Returns the op and what must move with it by one stage; empty if that is impossible.
  std::vector<int32_t> GroupOf(int32_t op, int32_t step) {
    const int32_t stage = cut_.stage_of_op[static_cast<size_t>(op)];
    const int32_t target = stage + step;
    if (target < 0 || target >= static_cast<int32_t>(cut_.unit_of_stage.size())) return {};
    const auto unit = static_cast<size_t>(cut_.unit_of_stage[static_cast<size_t>(target)]);
    const auto& neighbours = step > 0 ? after_ : before_;
    std::vector<int32_t> group{op};
    for (size_t i = 0; i < group.size(); ++i) {
      if (!problem_.Runs(static_cast<size_t>(group[i]), unit)) return {};
      for (const int32_t next : neighbours[static_cast<size_t>(group[i])]) {
        ++work_;
        if (cut_.stage_of_op[static_cast<size_t>(next)] != stage) continue;
        if (std::find(group.begin(), group.end(), next) != group.end()) continue;
        if (static_cast<int32_t>(group.size()) == options_.most_moved) return {};
        group.push_back(next);
      }
    }
    return group;
  }

  /// Removes stages that have lost their last op, and joins neighbours on one unit.
  void DropEmptyStages(StageCut& cut) const {
    std::vector<bool> used(cut.unit_of_stage.size(), false);
    for (const int32_t stage : cut.stage_of_op) used[static_cast<size_t>(stage)] = true;
    if (std::find(used.begin(), used.end(), false) == used.end()) return;
    std::vector<int32_t> renamed(used.size(), 0);
    std::vector<int32_t> units;
    for (size_t stage = 0; stage < used.size(); ++stage) {
      if (used[stage] && (units.empty() || units.back() != cut.unit_of_stage[stage])) {
        units.push_back(cut.unit_of_stage[stage]);
      }
      renamed[stage] = std::max<int32_t>(static_cast<int32_t>(units.size()) - 1, 0);
    }
    for (int32_t& stage : cut.stage_of_op) stage = renamed[static_cast<size_t>(stage)];
    cut.unit_of_stage = std::move(units);
  }

  const StageProblem& problem_;
  const BoundaryOptions& options_;
  StageCut& cut_;
  std::vector<std::vector<int32_t>> before_, after_;  ///< by op
  int64_t work_ = 0;
};

}  // namespace

void ImproveBoundaries(const StageProblem& problem, const BoundaryOptions& options, StageCut& cut) {
  Improver(problem, options, cut).Run();
}

}  // namespace tenon::converter
