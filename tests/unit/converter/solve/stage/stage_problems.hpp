// Chains and random stage problems, and the least period by looking at every cut.
#pragma once

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "converter/solve/stage/cut_stages.hpp"

namespace tenon::converter {

/// A chain of ops with these times, [op][unit], on unlike units; values of one byte each.
inline StageProblem Chain(const std::vector<std::vector<Picoseconds>>& time, size_t units) {
  StageProblem problem;
  problem.units.resize(units);
  problem.time = time;
  for (size_t op = 0; op + 1 < time.size(); ++op) {
    StageValue value;
    value.writer = static_cast<int32_t>(op);
    value.readers = {static_cast<int32_t>(op) + 1};
    value.bytes = 1;
    problem.values.push_back(value);
  }
  return problem;
}

/// The same with these times on every one of some equal cores.
inline StageProblem ChainOnCores(const std::vector<Picoseconds>& time, size_t cores) {
  std::vector<std::vector<Picoseconds>> on_each;
  for (const Picoseconds of_op : time) on_each.emplace_back(cores, of_op);
  StageProblem problem = Chain(on_each, cores);
  for (size_t u = 1; u < cores; ++u) problem.units[u].same_as = static_cast<int32_t>(u) - 1;
  return problem;
}

struct RandomStageOptions {
  int ops = 6;
  int units = 2;
  bool cores = false;     ///< all units are each other's equals
  bool transfers = true;  ///< reading and writing what others hand over takes time
  int cannot_percent = 10;
  int most_stages = 8;
};

/// Unit 0 runs every op.
inline StageProblem RandomStageProblem(uint64_t seed, const RandomStageOptions& options) {
  std::mt19937_64 random(seed);
  const auto below = [&](int count) {
    return static_cast<int>(random() % static_cast<uint64_t>(count));
  };
  StageProblem problem;
  problem.most_stages = options.most_stages;
  for (int u = 0; u < options.units; ++u) {
    StageUnit unit;
    unit.start = options.cores ? 3 : below(5);
    if (options.transfers && (u > 0 || options.cores)) {
      unit.read_bytes_per_second = 1e12 / (options.cores ? 2 : 1 + below(3));
      unit.write_bytes_per_second = 1e12;
    }
    unit.same_as = options.cores && u > 0 ? u - 1 : -1;
    problem.units.push_back(unit);
  }
  for (int op = 0; op < options.ops; ++op) {
    std::vector<Picoseconds> time;
    for (int u = 0; u < options.units; ++u) {
      const bool cannot = u > 0 && !options.cores && below(100) < options.cannot_percent;
      time.push_back(options.cores && u > 0 ? time[0] : cannot ? kCannotRun : below(30));
    }
    problem.time.push_back(std::move(time));
  }
  for (int writer = -1; writer < options.ops; ++writer) {
    StageValue value;
    value.writer = writer;
    value.bytes = below(8);
    value.is_output = writer + 1 == options.ops || (writer >= 0 && below(8) == 0);
    for (int reader = writer + 1; reader < options.ops; ++reader) {
      if (below(100) < (reader == writer + 1 ? 75 : 20)) value.readers.push_back(reader);
    }
    problem.values.push_back(std::move(value));
  }
  return problem;
}

/// Every way to cut the order and give the pieces to units; the least period. -1: no unit runs all.
class EveryCut {
 public:
  explicit EveryCut(const StageProblem& problem) : problem_(problem) {
    cut_.stage_of_op.resize(problem.ops());
    Place(0);
  }
  Picoseconds least = -1;
  int64_t count = 0;

 private:
  void Place(size_t op) {
    if (op == problem_.ops()) {
      if (static_cast<int32_t>(cut_.unit_of_stage.size()) < problem_.least_stages) return;
      ++count;
      StageCut measured = cut_;
      MeasureCut(problem_, measured);
      if (least < 0 || measured.period < least) least = measured.period;
      return;
    }
    const auto stages = static_cast<int32_t>(cut_.unit_of_stage.size());
    if (stages > 0 && problem_.Runs(op, static_cast<size_t>(cut_.unit_of_stage.back()))) {
      cut_.stage_of_op[op] = stages - 1;
      Place(op + 1);
    }
    if (stages == problem_.most_stages) return;
    for (size_t u = 0; u < problem_.units.size(); ++u) {
      if (!problem_.Runs(op, u)) continue;
      // Two neighbours on one unit are one stage: they count as two nowhere.
      if (stages > 0 && cut_.unit_of_stage.back() == static_cast<int32_t>(u)) continue;
      cut_.unit_of_stage.push_back(static_cast<int32_t>(u));
      cut_.stage_of_op[op] = stages;
      Place(op + 1);
      cut_.unit_of_stage.pop_back();
    }
  }

  const StageProblem& problem_;
  StageCut cut_;
};

}  // namespace tenon::converter
