#include <algorithm>
#include <map>
#include <vector>

#include "converter/solve/order/problem_parts.hpp"

namespace tenon::converter {
namespace {

constexpr Index kNone = UINT32_MAX;
constexpr Index kShared = kNone - 1;

class BranchFinder {
 public:
  explicit BranchFinder(const MemoryProblem& problem)
      : problem_(problem),
        successors_(problem.nodes.size()),
        chain_of_(problem.nodes.size(), kNone),
        owner_(problem.storages.size(), kNone),
        local_(problem.storages.size(), kNone) {
    for (Index v = 0; v < problem.nodes.size(); ++v) {
      for (const Index p : problem.nodes[v].predecessors) successors_[p].push_back(v);
    }
    FindChains();
    for (Index v = 0; v < problem.nodes.size(); ++v) {
      for (const Index s : problem.nodes[v].storages) {
        owner_[s] = owner_[s] == kNone || owner_[s] == chain_of_[v] ? chain_of_[v] : kShared;
      }
    }
  }

  MemoryProblem Run() {
    MemoryProblem result = problem_;
    std::map<std::vector<int64_t>, Index> last;  // the branch before, by description
    for (Index c = 0; c < chains_.size(); ++c) {
      const auto [entry, is_first] = last.try_emplace(Describe(c), c);
      if (is_first || !IsBefore(entry->second, c)) continue;
      for (size_t i = 0; i < chains_[c].size(); ++i) {
        result.nodes[chains_[c][i]].predecessors.push_back(chains_[entry->second][i]);
      }
      entry->second = c;
    }
    return result;
  }

 private:
  /// Finds runs of nodes where each is the only successor of the one before, its only predecessor.
  void FindChains() {
    for (Index v = 0; v < problem_.nodes.size(); ++v) {
      const std::vector<Index>& before = problem_.nodes[v].predecessors;
      if (before.size() == 1 && successors_[before[0]].size() == 1) {
        chain_of_[v] = chain_of_[before[0]];
      } else {
        chain_of_[v] = static_cast<Index>(chains_.size());
        chains_.emplace_back();
      }
      chains_[chain_of_[v]].push_back(v);
    }
  }

  /// Returns whether a comes before b, since numbers of nodes must stay a topological order.
  [[nodiscard]] bool IsBefore(Index a, Index b) const {
    return std::equal(chains_[a].begin(), chains_[a].end(), chains_[b].begin(),
                      [](Index v, Index w) { return v < w; });
  }

  /// Returns equal values for branches that only differ in the numbers of nodes and own storages.
  [[nodiscard]] std::vector<int64_t> Describe(Index chain) {
    const std::vector<Index>& nodes = chains_[chain];
    std::vector<int64_t> text;
    std::vector<Index> before = problem_.nodes[nodes.front()].predecessors;
    std::sort(before.begin(), before.end());
    const std::vector<Index>& behind = successors_[nodes.back()];
    text.push_back(static_cast<int64_t>(before.size()));
    text.insert(text.end(), before.begin(), before.end());
    text.push_back(static_cast<int64_t>(behind.size()));
    text.insert(text.end(), behind.begin(), behind.end());
    Index locals = 0;
    const auto storage = [&](Index s) {
      if (owner_[s] != chain) return text.push_back(s);
      if (local_[s] == kNone) local_[s] = locals++;
      text.push_back(-1 - int64_t{local_[s]});
      text.push_back(problem_.storages[s].bytes);
      text.push_back((problem_.storages[s].from_start ? 1 : 0) +
                     (problem_.storages[s].to_end ? 2 : 0));
    };
    for (const Index v : nodes) {
      const MemoryNode& node = problem_.nodes[v];
      text.push_back(node.transient_bytes);
      text.push_back(static_cast<int64_t>(node.storages.size()));
      for (const Index s : node.storages) storage(s);
      text.push_back(static_cast<int64_t>(node.hand_overs.size()));
      for (const HandOver& h : node.hand_overs) {
        storage(h.from);
        storage(h.to);
      }
    }
    return text;
  }

  const MemoryProblem& problem_;
  std::vector<std::vector<Index>> successors_;
  std::vector<std::vector<Index>> chains_;
  std::vector<Index> chain_of_;  ///< by node
  std::vector<Index> owner_;     ///< by storage: the chain that alone touches it
  std::vector<Index> local_;     ///< by storage: its number in its chain
};

}  // namespace

MemoryProblem WithEqualBranchesInTurn(const MemoryProblem& problem) {
  return BranchFinder(problem).Run();
}

}  // namespace tenon::converter
