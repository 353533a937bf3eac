#include "converter/solve/map/optimal_map.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include "converter/solve/map/map_bound.hpp"

namespace tenon::converter {
namespace {

/// Turns the mapping into a segment problem, with the crossing times in the ops' durations.
SegmentProblem SegmentsOf(const OptimalMapProblem& problem, const std::vector<int32_t>& unit) {
  SegmentProblem segments;
  segments.units = problem.units;
  segments.ops.predecessors = problem.predecessors;
  segments.ops.unit = unit;
  segments.duration.resize(problem.size());
  std::vector<bool> leaves(problem.size(), false);
  std::vector<uint64_t> has_arrived(problem.size(), 0);
  for (size_t op = 0; op < problem.size(); ++op) {
    const auto here = static_cast<size_t>(unit[op]);
    segments.duration[op] += std::max<Picoseconds>(problem.time[op][here], 1);
    for (const int32_t p : problem.predecessors[op]) {
      const auto from = static_cast<size_t>(p);
      if (unit[from] == unit[op]) continue;
      if (!problem.leave.empty() && !leaves[from]) {
        leaves[from] = true;
        segments.duration[from] += problem.leave[from][static_cast<size_t>(unit[from])];
      }
      const uint64_t bit = uint64_t{1} << (here % 64);
      if (!problem.arrive.empty() && (has_arrived[from] & bit) == 0) {
        segments.duration[op] += problem.arrive[from][here];
      }
      has_arrived[from] |= bit;
    }
  }
  return segments;
}

Picoseconds PeriodOf(const SegmentProblem& segments, const SegmentList& list) {
  std::vector<Picoseconds> busy(segments.units.size(), 0);
  for (const SegmentOps& segment : list) {
    Picoseconds& unit = busy[static_cast<size_t>(segment.unit)];
    unit += segments.units[static_cast<size_t>(segment.unit)].start;
    for (const int32_t op : segment.ops) unit += segments.duration[static_cast<size_t>(op)];
  }
  return busy.empty() ? 0 : *std::max_element(busy.begin(), busy.end());
}

// The proof may take this part of the work.
constexpr int64_t kShareOfProof = 4;

class MapSearch {
 public:
  MapSearch(const OptimalMapProblem& problem, const OptimalMapOptions& options)
      : problem_(problem), options_(options), size_(1) {
    for (size_t op = 0; op < problem.size(); ++op) {
      std::vector<int32_t>& choices = choices_.emplace_back();
      for (size_t u = 0; u < problem.units.size(); ++u) {
        if (problem.time[op][u] >= 0) choices.push_back(static_cast<int32_t>(u));
      }
      size_ += 1 + static_cast<int64_t>(problem.predecessors[op].size());
    }
  }

  OptimalMap Run(const std::vector<int32_t>& table) {
    best_.unit = table;
    best_.table = best_.time = Time(table);
    TryStarts(table);
    if (CountMappings() * size_ <= options_.work_budget) {
      Prove(INT64_MAX);
    } else {
      Climb();
      Prove(options_.work_budget / kShareOfProof);
      Perturb();
    }
    best_.bound = std::min(best_.bound, best_.time);
    best_.exact = best_.time == best_.bound;
    return std::move(best_);
  }

 private:
  Picoseconds Time(const std::vector<int32_t>& unit) {
    ++best_.tried;
    work_ += size_;
    return MappingTime(problem_, unit);
  }

  bool Try(const std::vector<int32_t>& unit) {
    const Picoseconds time = Time(unit);
    if (time >= best_.time) return false;
    best_.time = time;
    best_.unit = unit;
    return true;
  }

  /// Returns the number of mappings, or a number too large for any budget.
  [[nodiscard]] int64_t CountMappings() const {
    constexpr int64_t kTooMany = int64_t{1} << 40;
    int64_t count = 1;
    for (const std::vector<int32_t>& choices : choices_) {
      count *= static_cast<int64_t>(choices.size());
      if (count * size_ > kTooMany) return kTooMany;
    }
    return count;
  }

  void Prove(int64_t work_budget) {
    const MapProof proof = BranchAndBound(problem_, work_budget, best_);
    best_.bound = proof.bound;
    best_.complete = proof.complete;
    best_.tried += proof.tried;
    work_ += proof.work;
  }

  void TryStarts(const std::vector<int32_t>& table) {
    std::vector<int32_t> cheapest = table;
    for (size_t op = 0; op < problem_.size(); ++op) {
      for (const int32_t u : choices_[op]) {
        if (TimeOn(op, u) < TimeOn(op, cheapest[op])) cheapest[op] = u;
      }
    }
    Try(cheapest);
    for (size_t u = 0; u < problem_.units.size(); ++u) {
      std::vector<int32_t> mostly = cheapest;
      for (size_t op = 0; op < problem_.size(); ++op) {
        if (problem_.time[op][u] >= 0) mostly[op] = static_cast<int32_t>(u);
      }
      Try(mostly);
    }
    Try(CheapestWithoutParallelism(problem_, cheapest));
    Try(MapBound(problem_).PathMapping());
  }

  [[nodiscard]] Picoseconds TimeOn(size_t op, int32_t unit) const {
    return problem_.time[op][static_cast<size_t>(unit)];
  }

  /// Tries `unit` for those of the `length` ops from `first` on that it can run.
  bool TryRun(size_t first, size_t length, int32_t unit) {
    std::vector<int32_t> candidate = best_.unit;
    const size_t end = std::min(first + length, problem_.size());
    for (size_t op = first; op < end; ++op) {
      if (TimeOn(op, unit) >= 0) candidate[op] = unit;
    }
    return candidate != best_.unit && Try(candidate);
  }

  /// Tries runs of ops in their order, long ones first, until nothing improves.
  void Climb() {
    bool improved = true;
    while (improved && work_ < options_.work_budget) {
      improved = false;
      size_t length = 1;
      while (length * 2 < problem_.size()) length *= 2;
      for (; length > 0 && work_ < options_.work_budget; length /= 2) {
        const size_t step = std::max<size_t>(length / 2, 1);
        for (size_t first = 0; first < problem_.size(); first += step) {
          for (size_t u = 0; u < problem_.units.size(); ++u) {
            if (work_ >= options_.work_budget) return;
            improved = TryRun(first, length, static_cast<int32_t>(u)) || improved;
          }
        }
      }
    }
  }

  /// Tries runs of random place and length, by the seed, while the budget lasts.
  void Perturb() {
    std::mt19937_64 random(options_.seed);
    while (work_ < options_.work_budget && problem_.size() > 0 && best_.time > best_.bound) {
      const size_t first = random() % problem_.size();
      const size_t length = 1 + random() % std::min<size_t>(problem_.size(), 32);
      std::vector<int32_t> candidate = best_.unit;
      for (int runs = 0; runs < 2; ++runs) {
        const auto unit = static_cast<int32_t>(random() % problem_.units.size());
        const size_t from = runs == 0 ? first : random() % problem_.size();
        for (size_t op = from; op < std::min(from + length, problem_.size()); ++op) {
          if (TimeOn(op, unit) >= 0) candidate[op] = unit;
        }
      }
      Try(candidate);
    }
  }

  const OptimalMapProblem& problem_;
  const OptimalMapOptions& options_;
  std::vector<std::vector<int32_t>> choices_;
  int64_t size_;
  int64_t work_ = 0;
  OptimalMap best_;
};

}  // namespace

Picoseconds MappingTime(const OptimalMapProblem& problem, const std::vector<int32_t>& unit) {
  const SegmentProblem segments = SegmentsOf(problem, unit);
  SegmentList list = ListOf(segments, QuickAggregation(segments.ops));
  if (problem.objective == MapObjective::kPeriod) return PeriodOf(segments, list);
  OrderByTails(segments, list);
  return TimesOf(segments, list).makespan;
}

OptimalMap FindOptimalMap(const OptimalMapProblem& problem, const std::vector<int32_t>& table,
                          const OptimalMapOptions& options) {
  return MapSearch(problem, options).Run(table);
}

}  // namespace tenon::converter
