#include <numeric>
#include <queue>
#include <tuple>

#include "converter/solve/order/list_orders.hpp"

namespace tenon::converter {
namespace {

class GreedyScheduler {
 public:
  GreedyScheduler(const MemoryProblem& problem, GreedyTie tie)
      : problem_(problem),
        tie_(tie),
        waiting_for_(problem.nodes.size()),
        touched_(problem.storages.size(), 0),
        touchers_(problem.storages.size()),
        stamp_(problem.nodes.size(), 0),
        rank_(problem.nodes.size(), 0),
        done_(problem.nodes.size(), false) {
    successors_.begins.assign(problem.nodes.size() + 1, 0);
    touchers_of_.begins.assign(problem.storages.size() + 1, 0);
    for (const MemoryNode& node : problem.nodes) {
      for (const Index p : node.predecessors) ++successors_.begins[p + 1];
      for (const Index s : node.storages) ++touchers_of_.begins[s + 1];
    }
    std::vector<size_t> next_successor = successors_.Allocate();
    std::vector<size_t> next_toucher = touchers_of_.Allocate();
    for (Index v = 0; v < problem.nodes.size(); ++v) {
      const MemoryNode& node = problem.nodes[v];
      waiting_for_[v] = static_cast<Index>(node.predecessors.size());
      for (const Index p : node.predecessors) successors_.values[next_successor[p]++] = v;
      for (const Index s : node.storages) touchers_of_.values[next_toucher[s]++] = v;
    }
    for (Index s = 0; s < touchers_.size(); ++s) {
      touchers_[s] = static_cast<Index>(touchers_of_.begins[s + 1] - touchers_of_.begins[s]);
    }
  }

  std::vector<Index> Run() {
    std::vector<Index> order;
    order.reserve(problem_.nodes.size());
    for (Index v = 0; v < problem_.nodes.size(); ++v) {
      if (waiting_for_[v] == 0) MakeReady(v);
    }
    while (!candidates_.empty()) {
      const Candidate best = candidates_.top();
      candidates_.pop();
      if (done_[best.node] || best.stamp != stamp_[best.node]) continue;
      order.push_back(best.node);
      Do(best.node);
    }
    return order;
  }

 private:
  /// Stores lists of numbers, one after the other.
  struct Lists {
    std::vector<size_t> begins;
    std::vector<Index> values;
    /// Turns counts (of list i at i + 1) into begins; returns a copy of them for filling the lists.
    std::vector<size_t> Allocate() {
      std::partial_sum(begins.begin(), begins.end(), begins.begin());
      values.resize(begins.back());
      return begins;
    }
  };
  struct Candidate {
    int64_t change;  ///< of the live bytes
    int64_t during;  ///< live bytes while it runs, less those before
    int64_t rank;    ///< smaller ranks come first
    Index node;
    Index stamp;  ///< if unequal to the node's, its costs have changed since
    bool operator<(const Candidate& other) const {  // the largest is taken first
      return std::tie(change, during, rank) > std::tie(other.change, other.during, other.rank);
    }
  };

  void MakeReady(Index v) {
    rank_[v] = tie_ == GreedyTie::kSource ? v : --clock_;
    Offer(v);
  }

  void Offer(Index v) {
    const MemoryNode& node = problem_.nodes[v];
    Candidate candidate{0, node.transient_bytes, rank_[v], v, ++stamp_[v]};
    for (const Index s : node.storages) {
      const MemoryStorage& storage = problem_.storages[s];
      const bool opens = !IsOpen(s);
      if (opens) candidate.during += storage.bytes;
      candidate.change += (opens ? storage.bytes : 0) - (ClosesNext(s) ? storage.bytes : 0);
    }
    for (const HandOver& h : node.hand_overs) {
      if (!ClosesNext(h.from) || IsOpen(h.to)) continue;
      candidate.during -= problem_.storages[h.to].bytes;
      break;
    }
    candidates_.push(candidate);
  }

  void Do(Index v) {
    done_[v] = true;
    for (const Index s : problem_.nodes[v].storages) {
      ++touched_[s];
      // Only then does its cost for others change.
      if (touched_[s] == 1 || touched_[s] + 1 == touchers_[s]) OfferTouchers(s);
    }
    for (size_t k = successors_.begins[v]; k < successors_.begins[v + 1]; ++k) {
      const Index next = successors_.values[k];
      if (--waiting_for_[next] == 0) MakeReady(next);
    }
  }

  void OfferTouchers(Index s) {
    for (size_t k = touchers_of_.begins[s]; k < touchers_of_.begins[s + 1]; ++k) {
      const Index v = touchers_of_.values[k];
      if (waiting_for_[v] == 0 && !done_[v]) Offer(v);
    }
  }

  [[nodiscard]] bool IsOpen(Index s) const {
    return touched_[s] > 0 || problem_.storages[s].from_start;
  }
  [[nodiscard]] bool ClosesNext(Index s) const {
    return touched_[s] + 1 == touchers_[s] && !problem_.storages[s].to_end;
  }

  const MemoryProblem& problem_;
  GreedyTie tie_;
  Lists successors_;   ///< by node
  Lists touchers_of_;  ///< by storage
  std::vector<Index> waiting_for_;
  std::vector<Index> touched_, touchers_;  ///< by storage: nodes done that use it; all that use it
  std::vector<Index> stamp_;               ///< by node: how often it has been offered
  std::vector<int64_t> rank_;              ///< by node
  std::vector<bool> done_;
  int64_t clock_ = 0;
  std::priority_queue<Candidate> candidates_;
};

}  // namespace

std::vector<Index> GreedyOrder(const MemoryProblem& problem, GreedyTie tie) {
  return GreedyScheduler(problem, tie).Run();
}

}  // namespace tenon::converter
