#include "converter/solve/stage/cut_stages.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "converter/solve/stage/cut_once_each.hpp"

namespace tenon::converter {
namespace {

constexpr size_t kMostUnits = 16;
constexpr Picoseconds kNever = std::numeric_limits<Picoseconds>::max() / 4;

/// Describes a way to run the ops before some cut point.
struct Prefix {
  std::array<Picoseconds, kMostUnits> busy{};  ///< by unit
  int32_t stages = 0;
  int32_t unit = -1;    ///< of the last stage
  int32_t point = 0;    ///< index of the cut point where it ends
  int32_t before = -1;  ///< the prefix without the last stage
  uint32_t used = 0;    ///< a bit per unit
};

/// Counts what a stage from one point to another reads from others and writes for others.
struct Crossing {
  int64_t reads = 0;
  int64_t writes = 0;
};

class Cutter {
 public:
  Cutter(const StageProblem& problem, const CutOptions& options)
      : problem_(problem),
        options_(options),
        most_stages_(problem.most_stages),
        units_(problem.units.size()) {}

  std::optional<StageCut> Run() {
    if (problem_.ops() == 0) return StageCut{};
    for (const StageUnit& unit : problem_.units) {
      if (unit.same_as >= 0) twins_ |= 1U << unit.same_as;
    }
    ChoosePoints();
    SumTimes();
    CountCrossings();
    // Quick searches come first: their period tells the wide one what need not be followed.
    FindOnceEach();
    constexpr size_t kNarrow = 12;
    Search(kNarrow);
    const bool complete = Search(SIZE_MAX);
    if (best_ < 0) return std::nullopt;
    SaveStages();
    StageCut cut = Trace();
    cut.exact = complete && points_.size() == problem_.ops() + 1;
    cut.work = work_;
    return cut;
  }

 private:
  // --- tables -------------------------------------------------------------------------------

  /// Chooses all boundaries between ops, or the cheapest one of each run of about equal work.
  void ChoosePoints() {
    const size_t ops = problem_.ops();
    const auto most = static_cast<size_t>(std::max(options_.most_points, 2));
    if (ops + 1 <= most) {
      points_.resize(ops + 1);
      std::iota(points_.begin(), points_.end(), size_t{0});
      return;
    }
    std::vector<int64_t> crossing(ops + 1, 0);
    for (const StageValue& value : problem_.values) {
      if (value.writer < 0 || value.readers.empty()) continue;
      crossing[static_cast<size_t>(value.writer) + 1] += value.bytes;
      crossing[static_cast<size_t>(value.readers.back()) + 1] -= value.bytes;
    }
    std::partial_sum(crossing.begin(), crossing.end(), crossing.begin());
    std::vector<Picoseconds> done(ops + 1, 0);
    for (size_t i = 0; i < ops; ++i) done[i + 1] = done[i] + Least(i) + 1;
    points_.push_back(0);
    const auto buckets = static_cast<Picoseconds>(most - 2);
    for (size_t i = 1; i < ops;) {
      const Picoseconds bucket = done[i] / (done[ops] / buckets + 1);
      size_t cheapest = i;
      for (; i < ops && done[i] / (done[ops] / buckets + 1) == bucket; ++i) {
        if (crossing[i] < crossing[cheapest]) cheapest = i;
      }
      points_.push_back(cheapest);
    }
    points_.push_back(ops);
  }

  [[nodiscard]] Picoseconds Least(size_t op) const {
    Picoseconds least = kNever;
    for (size_t u = 0; u < units_; ++u) {
      if (problem_.Runs(op, u)) least = std::min(least, problem_.time[op][u]);
    }
    return least == kNever ? 0 : least;
  }

  /// Sums times of all ops before a point, and counts how many of them a unit cannot run.
  void SumTimes() {
    time_.assign(points_.size(), std::vector<Picoseconds>(units_, 0));
    refused_.assign(points_.size(), std::vector<int32_t>(units_, 0));
    rest_.assign(points_.size(), 0);
    for (size_t p = 1; p < points_.size(); ++p) {
      time_[p] = time_[p - 1];
      refused_[p] = refused_[p - 1];
      for (size_t op = points_[p - 1]; op < points_[p]; ++op) {
        for (size_t u = 0; u < units_; ++u) {
          if (problem_.Runs(op, u)) {
            time_[p][u] += problem_.time[op][u];
          } else {
            ++refused_[p][u];
          }
        }
      }
    }
    for (size_t p = points_.size() - 1; p > 0; --p) {
      rest_[p - 1] = rest_[p];
      for (size_t op = points_[p - 1]; op < points_[p]; ++op) rest_[p - 1] += Least(op);
    }
  }

  void CountCrossings() {
    const size_t count = points_.size();
    crossing_.assign(count * count, {});
    std::vector<size_t> slot(problem_.ops());  // which pair of points an op lies between
    for (size_t p = 0; p + 1 < count; ++p) {
      for (size_t op = points_[p]; op < points_[p + 1]; ++op) slot[op] = p;
    }
    // reads(j, i) is the values written before j with a reader in [j, i). They are counted at the
    // first reader at or after j, then summed over i. writes(j, i): written in [j, i), last read
    // after.
    for (const StageValue& value : problem_.values) {
      const int64_t bytes = value.bytes;
      const size_t written = value.writer < 0 ? 0 : slot[static_cast<size_t>(value.writer)] + 1;
      auto reader = value.readers.begin();
      for (size_t j = written; reader != value.readers.end(); ++j) {
        while (reader != value.readers.end() && slot[static_cast<size_t>(*reader)] < j) ++reader;
        if (reader == value.readers.end()) break;
        Cross(j, slot[static_cast<size_t>(*reader)] + 1).reads += bytes;
      }
      if (value.writer < 0) continue;
      const size_t last = value.is_output ? count
                          : value.readers.empty()
                              ? 0
                              : slot[static_cast<size_t>(value.readers.back())] + 1;
      for (size_t i = written; i < std::min(last, count); ++i)
        Cross(written - 1, i).writes += bytes;
    }
    for (size_t j = 0; j < count; ++j) {
      for (size_t i = j + 1; i < count; ++i) Cross(j, i).reads += Cross(j, i - 1).reads;
    }
    // So far these are the writers just after j; those up to i are added.
    for (size_t i = 1; i < count; ++i) {
      for (size_t j = i - 1; j-- > 0;) Cross(j, i).writes += Cross(j + 1, i).writes;
    }
  }

  Crossing& Cross(size_t from, size_t to) { return crossing_[from * points_.size() + to]; }

  /// Returns the time of a stage without what it writes; it grows with `to`.
  Picoseconds ReadAndRun(size_t from, size_t to, size_t unit) {
    return problem_.units[unit].start + time_[to][unit] - time_[from][unit] +
           TimeAtRate(static_cast<double>(Cross(from, to).reads),
                      problem_.units[unit].read_bytes_per_second);
  }
  Picoseconds Write(size_t from, size_t to, size_t unit) {
    return TimeAtRate(static_cast<double>(Cross(from, to).writes),
                      problem_.units[unit].write_bytes_per_second);
  }

  // --- search -------------------------------------------------------------------------------

  /// Follows at most `width` prefixes per point and unit. Returns false if any was dropped that
  /// might have led to something better.
  bool Search(size_t width) {
    const size_t count = points_.size();
    frontier_.assign(count, std::vector<std::vector<int32_t>>(units_));
    Prefix none;
    all_.push_back(none);
    const auto root = static_cast<int32_t>(all_.size() - 1);
    complete_ = true;
    width_ = width;
    for (size_t point = 0; point + 1 < count; ++point) {
      std::vector<int32_t> here;
      if (point == 0) here.push_back(root);
      for (std::vector<int32_t>& list : frontier_[point]) {
        Thin(list, Width());
        here.insert(here.end(), list.begin(), list.end());
      }
      for (const int32_t prefix : here) Extend(prefix);
    }
    return complete_;
  }

  [[nodiscard]] size_t Width() const {
    return width_ == SIZE_MAX && IsSpent() ? kAfterBudget : width_;
  }

  /// Finds cuts in which every unit has one stage, and starts from the best.
  void FindOnceEach() {
    StageTimes times;
    times.points = points_.size();
    times.runs = [&](size_t from, size_t to, size_t unit) {
      return refused_[to][unit] == refused_[from][unit];
    };
    times.read_and_run = [&](size_t from, size_t to, size_t unit) {
      return ReadAndRun(from, to, unit);
    };
    times.write = [&](size_t from, size_t to, size_t unit) { return Write(from, to, unit); };
    once_each_ = CutOnceEach(problem_.units, times, most_stages_);
    for (size_t stages = 0; stages < once_each_.size(); ++stages) StartFromOnceEach(stages);
  }

  void StartFromOnceEach(size_t stages) {
    if (stages >= once_each_.size() || once_each_[stages].empty()) return;
    Prefix prefix;
    auto before = static_cast<int32_t>(all_.size());
    all_.push_back(prefix);
    for (const OnceEachStage& stage : once_each_[stages]) {
      const auto begin = static_cast<size_t>(prefix.point);
      prefix.busy[stage.unit] =
          ReadAndRun(begin, stage.end, stage.unit) + Write(begin, stage.end, stage.unit);
      prefix.unit = static_cast<int32_t>(stage.unit);
      prefix.used |= 1U << stage.unit;
      prefix.point = static_cast<int32_t>(stage.end);
      prefix.before = before;
      ++prefix.stages;
      if (stage.end + 1 == points_.size()) return Add(prefix);
      before = static_cast<int32_t>(all_.size());
      all_.push_back(prefix);
    }
  }

  [[nodiscard]] bool IsSpent() const {
    return work_ > options_.work_budget || all_.size() > kMostPrefixes;
  }

  /// Takes the fewest stages that are nearly as good, as each costs a thread and a hand-over.
  void SaveStages() {
    const int32_t found = best_;
    const int32_t stages = best_stages_;
    const auto limit = static_cast<Picoseconds>(static_cast<double>(best_period_) *
                                                (1 + std::max(options_.stage_slack, 0.0)));
    for (most_stages_ = problem_.least_stages; most_stages_ < stages; ++most_stages_) {
      best_ = -1;
      best_period_ = limit;
      best_stages_ = std::numeric_limits<int32_t>::max();
      StartFromOnceEach(static_cast<size_t>(most_stages_));
      if (best_ < 0 || !IsSpent()) Search(SIZE_MAX);
      if (best_ >= 0) return;
    }
    best_ = found;
  }

  void Thin(std::vector<int32_t>& list, size_t width) {
    if (list.size() <= width) return;
    complete_ = false;
    std::stable_sort(list.begin(), list.end(),
                     [&](int32_t a, int32_t b) { return Bound(At(a)) < Bound(At(b)); });
    list.resize(width);
  }

  [[nodiscard]] const Prefix& At(int32_t prefix) const { return all_[static_cast<size_t>(prefix)]; }

  /// Returns a period that no completion of the prefix can be below.
  [[nodiscard]] Picoseconds Bound(const Prefix& prefix) const {
    Picoseconds largest = 0;
    Picoseconds sum = rest_[static_cast<size_t>(prefix.point)];
    for (size_t u = 0; u < units_; ++u) {
      largest = std::max(largest, prefix.busy[u]);
      sum += prefix.busy[u];
    }
    const auto units = static_cast<Picoseconds>(units_);
    return std::max(largest, (sum + units - 1) / units);
  }

  void Extend(int32_t from) {
    const Prefix prefix = At(from);
    if (prefix.stages == most_stages_) return;
    if (IsNoBetter(prefix)) return;
    const auto begin = static_cast<size_t>(prefix.point);
    for (size_t u = 0; u < units_; ++u) {
      if (static_cast<int32_t>(u) == prefix.unit) continue;
      const int32_t twin = problem_.units[u].same_as;
      if (twin >= 0 && (prefix.used >> twin & 1U) == 0) continue;
      for (size_t end = begin + 1; end < points_.size(); ++end) {
        if (refused_[end][u] != refused_[begin][u]) break;
        ++work_;
        const Picoseconds run = ReadAndRun(begin, end, u);
        if (prefix.busy[u] + run > best_period_) break;
        Prefix longer = prefix;
        longer.busy[u] += run + Write(begin, end, u);
        longer.unit = static_cast<int32_t>(u);
        longer.used |= 1U << u;
        longer.point = static_cast<int32_t>(end);
        longer.before = from;
        ++longer.stages;
        Add(longer);
      }
    }
  }

  [[nodiscard]] bool IsNoBetter(const Prefix& prefix) const {
    const Picoseconds bound = Bound(prefix);
    return bound > best_period_ || (bound == best_period_ && prefix.stages >= best_stages_);
  }

  void Add(const Prefix& prefix) {
    if (IsNoBetter(prefix)) return;
    const auto point = static_cast<size_t>(prefix.point);
    if (point + 1 == points_.size()) {
      if (prefix.stages < problem_.least_stages) return;
      best_period_ = Bound(prefix);
      best_stages_ = prefix.stages;
      best_ = static_cast<int32_t>(all_.size());
      all_.push_back(prefix);
      return;
    }
    std::vector<int32_t>& list = frontier_[point][static_cast<size_t>(prefix.unit)];
    for (const int32_t other : list) {
      if (Dominates(At(other), prefix)) return;
    }
    work_ += static_cast<int64_t>(list.size()) / 2;
    std::erase_if(list, [&](int32_t other) { return Dominates(prefix, At(other)); });
    // Lists that will be thinned when their point is reached are kept short before, too: every
    // prefix that comes to one is compared with all of it.
    constexpr size_t kMargin = 16;
    if (const size_t width = Width(); width < SIZE_MAX && list.size() >= width + kMargin) {
      Thin(list, width);
    }
    list.push_back(static_cast<int32_t>(all_.size()));
    all_.push_back(prefix);
  }

  [[nodiscard]] bool Dominates(const Prefix& a, const Prefix& b) const {
    // Equal units are opened in order: a prefix that has opened fewer has fewer options.
    if (a.stages > b.stages || (twins_ & b.used & ~a.used) != 0) return false;
    for (size_t u = 0; u < units_; ++u) {
      if (a.busy[u] > b.busy[u]) return false;
    }
    return true;
  }

  StageCut Trace() {
    std::vector<int32_t> chain;
    for (int32_t at = best_; At(at).stages > 0; at = At(at).before) chain.push_back(at);
    std::reverse(chain.begin(), chain.end());
    StageCut cut;
    cut.stage_of_op.resize(problem_.ops());
    size_t op = 0;
    for (const int32_t at : chain) {
      const size_t end = points_[static_cast<size_t>(At(at).point)];
      const auto stage = static_cast<int32_t>(cut.unit_of_stage.size());
      for (; op < end; ++op) cut.stage_of_op[op] = stage;
      cut.unit_of_stage.push_back(At(at).unit);
    }
    MeasureCut(problem_, cut);
    return cut;
  }

  static constexpr size_t kAfterBudget = 4;
  static constexpr size_t kMostPrefixes = 1'000'000;
  const StageProblem& problem_;
  const CutOptions& options_;
  int32_t most_stages_;
  size_t units_;
  std::vector<size_t> points_;                  ///< ops before each cut point, ascending
  std::vector<std::vector<Picoseconds>> time_;  ///< by point and unit
  std::vector<std::vector<int32_t>> refused_;   ///< by point and unit
  std::vector<Picoseconds> rest_;               ///< by point: least time of all that follows
  std::vector<Crossing> crossing_;              ///< by point and later point
  std::vector<Prefix> all_;
  std::vector<std::vector<std::vector<int32_t>>> frontier_;  ///< by point and unit
  std::vector<std::vector<OnceEachStage>> once_each_;        ///< by number of stages
  Picoseconds best_period_ = kNever;
  int32_t best_stages_ = std::numeric_limits<int32_t>::max();
  int32_t best_ = -1;
  int64_t work_ = 0;
  size_t width_ = SIZE_MAX;  ///< of the search under way
  bool complete_ = true;  ///< so far it has dropped nothing that might have led to something better
  uint32_t twins_ = 0;    ///< units that others are equal to
};

}  // namespace

std::optional<StageCut> CutStages(const StageProblem& problem, const CutOptions& options) {
  return Cutter(problem, options).Run();
}

}  // namespace tenon::converter
