#include "converter/solve/order/subgraph_search.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "converter/solve/order/beam_search.hpp"
#include "converter/solve/order/list_orders.hpp"
#include "converter/solve/order/problem_parts.hpp"

namespace tenon::converter {
namespace {

constexpr size_t kFirstWidth = 8;
constexpr double kNoise = 0.1;
// Beyond this, a search that remembers downsets takes too long for each, and too much memory, so
// windows of the order are searched instead.
constexpr size_t kMostNodesAtOnce = 3000;
constexpr size_t kWindow = 256;
constexpr int kMostWindowRounds = 8;

}  // namespace

SubgraphSearch::SubgraphSearch(const MemoryProblem& problem, uint64_t seed)
    : seed_(seed), order_(problem.nodes.size()) {
  directions_[0] = WithEqualBranchesInTurn(problem);
  directions_[1] = Reversed(directions_[0]);
  std::iota(order_.begin(), order_.end(), Index{0});
  source_peak_ = peak_ = PeakOf(problem, order_);
  lower_bound_ = LowerBoundOf(directions_[0]);
}

int64_t SubgraphSearch::Floor() const { return std::max(enough_, lower_bound_); }

void SubgraphSearch::Run(int64_t enough, int64_t work_budget, const WorkReport& report) {
  enough_ = enough;
  end_ = effort_.work + work_budget;
  if (IsDone() || !HasWork()) return;
  TryGreedy();
  if (nodes() > kMostNodesAtOnce) {
    RunWindows(report);
    return;
  }
  TryBeam(kFirstWidth, 0.0, report);
  RunExact((end_ - effort_.work) / 2, report);
  for (size_t width = 2 * kFirstWidth; !IsDone() && HasWork(); width += width / 2) {
    TryBeam(width, 0.0, report);
    TryBeam(width, kNoise, report);
  }
}

void SubgraphSearch::Take(std::vector<Index> order, size_t direction) {
  if (direction == 1) {
    std::reverse(order.begin(), order.end());
    for (Index& v : order) v = static_cast<Index>(order.size() - 1 - v);
  }
  const int64_t peak = PeakOf(directions_[0], order);
  if (peak >= peak_) return;
  peak_ = peak;
  order_ = std::move(order);
}

void SubgraphSearch::TryGreedy() {
  const auto count = static_cast<int64_t>(nodes());
  for (const GreedyTie tie : {GreedyTie::kSource, GreedyTie::kLatest}) {
    for (size_t d = 0; d < directions_.size() && !IsDone(); ++d) {
      if (end_ - effort_.work < count) return;
      effort_.downsets += count;
      effort_.work += ExpansionWork(8 * count, 0, 0);
      Take(GreedyOrder(directions_[d], tie), d);
    }
  }
}

/// Halves the gap between the best known peak and the bound, as far as this beam width succeeds.
void SubgraphSearch::TryBeam(size_t width, double noise, const WorkReport& report) {
  int64_t low = Floor();
  while (low < peak_ && HasWork()) {
    BeamOptions options;
    options.target = low + (peak_ - low) / 2;
    options.width = width;
    options.report = report;
    options.noise = noise;
    options.seed = seed_++;
    bool found = false;
    for (size_t d = 0; d < directions_.size() && !found; ++d) {
      options.work = end_ - effort_.work;
      auto order = BeamSearch(directions_[d], options, effort_);
      if (!order.has_value()) continue;
      found = true;
      Take(std::move(*order), d);
    }
    if (!found) low = options.target + 1;
  }
}

/// Alternates between both directions, in slices that grow.
void SubgraphSearch::RunExact(int64_t work, const WorkReport& report) {
  std::array<DownsetSearch, 2> searches = {DownsetSearch(directions_[0], Floor(), peak_),
                                           DownsetSearch(directions_[1], Floor(), peak_)};
  const int64_t end = effort_.work + work;
  for (int64_t slice = 512; !IsDone() && effort_.work < end; slice *= 2) {
    for (size_t d = 0; d < searches.size() && !IsDone(); ++d) {
      DownsetSearch& search = searches[d];
      if (RunSlice(search, std::min(slice, end - effort_.work), report)) Take(search.order(), d);
      // Levels at or below `enough` have not been examined.
      if (search.lower_bound() > enough_) {
        lower_bound_ = std::max(lower_bound_, search.lower_bound());
      }
    }
  }
}

/// Returns true if an order is found. Runs in pieces that only affect how often it reports.
bool SubgraphSearch::RunSlice(DownsetSearch& search, int64_t work, const WorkReport& report) {
  constexpr int64_t kPiece = 1024;
  const int64_t slice_end = search.effort().work + work;
  auto outcome = DownsetSearch::Outcome::kOutOfWork;
  while (outcome == DownsetSearch::Outcome::kOutOfWork && search.effort().work < slice_end) {
    const SearchEffort before = search.effort();
    outcome = search.Run(std::min(kPiece, slice_end - before.work));
    effort_.downsets += search.effort().downsets - before.downsets;
    effort_.work += search.effort().work - before.work;
    report(effort_.work);
  }
  return outcome == DownsetSearch::Outcome::kFound;
}

/// Cuts the best order known into windows and searches each as a subgraph, then with other cuts,
/// until two rounds have changed nothing. What a window proves is valid for that cut only.
void SubgraphSearch::RunWindows(const WorkReport& report) {
  int useless = 0;
  for (int round = 0; round < kMostWindowRounds && useless < 2 && !IsDone() && HasWork(); ++round) {
    ProblemParts parts(directions_[0], order_);
    std::vector<size_t> begins;
    std::vector<SubgraphSearch> searches;
    size_t end = round % 2 == 0 ? kWindow : kWindow / 2;
    for (size_t begin = 0; begin < nodes(); begin = end, end += kWindow) {
      begins.push_back(begin);
      searches.emplace_back(parts.Part(begin, std::min(end, nodes())), seed_++);
    }
    (void)RunSearches(searches, end_ - effort_.work,
                      [&](int64_t spent) { report(effort_.work + spent); });
    for (size_t i = 0; i < searches.size(); ++i) {
      effort_.downsets += searches[i].effort().downsets;
      effort_.work += searches[i].effort().work;
      parts.Reorder(begins[i], searches[i].order());
    }
    const int64_t before = peak_;
    Take(parts.order(), 0);
    useless = peak_ < before ? 0 : useless + 1;
  }
}

int64_t RunSearches(std::vector<SubgraphSearch>& searches, int64_t work_budget,
                    const WorkReport& report) {
  std::vector<size_t> by_peak(searches.size());
  std::iota(by_peak.begin(), by_peak.end(), size_t{0});
  std::stable_sort(by_peak.begin(), by_peak.end(), [&](size_t a, size_t b) {
    return searches[a].source_peak() > searches[b].source_peak();
  });
  int64_t enough = 0;
  for (const SubgraphSearch& search : searches) enough = std::max(enough, search.lower_bound());
  int64_t spent = 0;
  for (const size_t i : by_peak) {
    // Spends half of what is left, so that a subgraph without success leaves some for the next.
    if (searches[i].peak() > enough) {
      searches[i].Run(enough, (work_budget - spent) / 2,
                      [&](int64_t more) { report(spent + more); });
    }
    spent += searches[i].effort().work;
    enough = std::max(enough, searches[i].peak());
  }
  return spent;
}

}  // namespace tenon::converter
