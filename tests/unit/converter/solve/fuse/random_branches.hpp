// Random graphs with branches, and a unit with limited resources.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "converter/solve/fuse/branch_graph.hpp"
#include "converter/solve/fuse/group_model.hpp"

namespace tenon::converter {

/// A DAG in which chains, forks and joins are all common.
inline BranchGraph RandomBranches(std::mt19937_64& random, size_t ops) {
  BranchGraph graph;
  const uint64_t joins = random() % 60;
  const uint64_t sources = random() % 20;
  const uint64_t reach = 1 + random() % 6;
  for (size_t op = 0; op < ops; ++op) {
    std::vector<int32_t> predecessors;
    const auto add = [&] {
      const size_t back = 1 + random() % std::min<uint64_t>(reach, op);
      const auto from = static_cast<int32_t>(op - back);
      for (const int32_t known : predecessors) {
        if (known == from) return;
      }
      predecessors.push_back(from);
    };
    if (op > 0 && random() % 100 >= sources) add();
    while (op > 0 && random() % 100 < joins && predecessors.size() < 4) add();
    graph.predecessors.push_back(std::move(predecessors));
  }
  return graph;
}

/// A unit with lanes and a limit for the sum of what its ops need.
class LimitedUnit final : public GroupModel {
 public:
  LimitedUnit(std::mt19937_64& random, size_t ops) : capacity_(4 + random() % 20) {
    for (size_t op = 0; op < ops; ++op) {
      needs_.push_back(1 + random() % 8);
      work_.push_back(static_cast<double>(1 + random() % 50));
    }
  }
  [[nodiscard]] double Time(const OpSet& ops) const override {
    double longest = 0;
    double sum = 0;
    for (const int32_t op : ops) {
      longest = std::max(longest, work_[static_cast<size_t>(op)]);
      sum += work_[static_cast<size_t>(op)];
    }
    return 10 + std::max(longest, sum / 4);
  }
  [[nodiscard]] std::string WhyNot(const OpSet& ops) const override {
    return ops.size() < 2 || Need(ops) <= capacity_ ? "" : "needs too much";
  }
  [[nodiscard]] uint64_t Need(const OpSet& ops) const {
    uint64_t need = 0;
    for (const int32_t op : ops) need += needs_[static_cast<size_t>(op)];
    return need;
  }
  [[nodiscard]] uint64_t capacity() const { return capacity_; }

 private:
  uint64_t capacity_;
  std::vector<uint64_t> needs_;
  std::vector<double> work_;
};

inline std::vector<bool> RandomFusible(std::mt19937_64& random, size_t ops) {
  std::vector<bool> fusible;
  for (size_t op = 0; op < ops; ++op) fusible.push_back(random() % 100 < 75);
  return fusible;
}

}  // namespace tenon::converter
