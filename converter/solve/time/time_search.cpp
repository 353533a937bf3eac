#include "converter/solve/time/time_search.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <string>

#include "converter/solve/order/key_nodes.hpp"
#include "converter/solve/order/list_orders.hpp"
#include "converter/solve/order/memory_order.hpp"
#include "converter/solve/time/segment_search.hpp"
#include "converter/solve/time/task_steps.hpp"
#include "converter/solve/time/time_orders.hpp"
#include "converter/solve/time/time_schedule.hpp"

namespace tenon::converter {
namespace {

/// Stores the best order of one problem so far, and provides ways to find better ones.
class OrderSearch {
 public:
  OrderSearch(const TimeProblem& problem, Picoseconds enough, uint64_t seed)
      : problem_(problem),
        evaluator_(problem),
        successors_(SuccessorsOf(problem)),
        enough_(enough),
        random_(seed) {}

  /// Returns the order's makespan; none if it does not fit or is longer than `limit`.
  OrderTime Try(const std::vector<Index>& order, Picoseconds limit = INT64_MAX) {
    work_ += static_cast<int64_t>(order.size());
    ++tried_;
    if (progress_ != nullptr) progress_->Report(work_before_ + work_);
    const TimeOutcome outcome = evaluator_.Evaluate(order, limit);
    if (!outcome.fits) {
      if (!best_.has_value()) stuck_ = outcome.stuck;
      return std::nullopt;
    }
    if (outcome.makespan > limit) return std::nullopt;
    if (!best_.has_value() || outcome.makespan < *best_ ||
        (outcome.makespan == *best_ && outcome.peak_bytes < peak_bytes_)) {
      best_ = outcome.makespan;
      peak_bytes_ = outcome.peak_bytes;
      order_ = order;
    }
    return outcome.makespan;
  }

  /// From now on reports the work spent, on top of `work_before` by others.
  void ReportTo(Progress& progress, int64_t work_before) {
    progress_ = &progress;
    work_before_ = work_before;
  }

  /// An order that takes no longer ends the search.
  void BeContentWith(Picoseconds enough) { enough_ = enough; }
  [[nodiscard]] bool IsDone() const { return best_.has_value() && *best_ <= enough_; }

  /// Tries every order there is: depth first, without recursion.
  void TryAll();
  /// Moves single tasks while orders improve or, ever more rarely, get a little worse.
  void Anneal(int64_t work);

  [[nodiscard]] const OrderTime& best() const { return best_; }
  [[nodiscard]] const std::vector<Index>& order() const { return order_; }
  [[nodiscard]] int64_t peak_bytes() const { return peak_bytes_; }
  [[nodiscard]] int64_t tried() const { return tried_; }
  [[nodiscard]] int64_t work() const { return work_; }
  [[nodiscard]] Index stuck() const { return stuck_; }

 private:
  bool Move(std::vector<Index>& order, std::vector<Index>& position);

  const TimeProblem& problem_;
  TimeEvaluator evaluator_;
  std::vector<std::vector<Index>> successors_;
  Picoseconds enough_;
  std::mt19937_64 random_;
  OrderTime best_;
  std::vector<Index> order_;
  int64_t peak_bytes_ = 0;
  int64_t tried_ = 0;
  int64_t work_ = 0;
  Index stuck_ = 0;
  Progress* progress_ = nullptr;
  int64_t work_before_ = 0;
};

void OrderSearch::TryAll() {
  const auto count = static_cast<Index>(problem_.tasks.size());
  std::vector<Index> missing(count);
  for (Index t = 0; t < count; ++t) {
    missing[t] = static_cast<Index>(problem_.tasks[t].predecessors.size());
  }
  std::vector<bool> done(count, false);
  std::vector<Index> order;
  std::vector<Index> next = {0};  // by depth: the first task to try there
  while (!next.empty() && !IsDone()) {
    Index t = next.back();
    while (t < count && (done[t] || missing[t] > 0)) ++t;
    if (t == count) {
      next.pop_back();
      if (order.empty()) continue;
      const Index last = order.back();
      order.pop_back();
      done[last] = false;
      for (const Index s : successors_[last]) ++missing[s];
      continue;
    }
    next.back() = t + 1;
    order.push_back(t);
    done[t] = true;
    for (const Index s : successors_[t]) --missing[s];
    if (order.size() == count) {
      Try(order, best_.value_or(INT64_MAX));
      order.pop_back();
      done[t] = false;
      for (const Index s : successors_[t]) ++missing[s];
    } else {
      next.push_back(0);
    }
  }
}

/// Moves a task elsewhere between its predecessors and successors. Returns false if it cannot.
bool OrderSearch::Move(std::vector<Index>& order, std::vector<Index>& position) {
  const auto count = static_cast<Index>(order.size());
  const auto from = static_cast<Index>(random_() % count);
  const Index task = order[from];
  Index low = 0;
  Index high = count - 1;
  for (const Index p : problem_.tasks[task].predecessors) low = std::max(low, position[p] + 1);
  for (const Index s : successors_[task]) high = std::min(high, position[s] - 1);
  if (low >= high) return false;
  // Most moves are short, because long ones hardly ever help.
  const Index reach = random_() % 4 == 0 ? count : 1 + static_cast<Index>(random_() % 8);
  low = std::max(low, from > reach ? from - reach : 0);
  high = std::min(high, from + reach);
  const Index to = low + static_cast<Index>(random_() % (high - low + 1));
  if (to == from) return false;
  const auto begin = order.begin();
  if (to > from) {
    std::rotate(begin + from, begin + from + 1, begin + to + 1);
  } else {
    std::rotate(begin + to, begin + from, begin + from + 1);
  }
  for (Index i = std::min(from, to); i <= std::max(from, to); ++i) position[order[i]] = i;
  return true;
}

void OrderSearch::Anneal(int64_t work) {
  if (!best_.has_value() || problem_.tasks.size() < 2) return;
  constexpr double kFirstSlack = 0.01;
  const int64_t begin = work_;
  std::vector<Index> current = order_;
  Picoseconds current_time = *best_;
  std::vector<Index> position(current.size());
  int64_t idle = 0;
  while (work_ - begin < work && !IsDone() && idle < 1000) {
    std::vector<Index> candidate = current;
    for (Index i = 0; i < candidate.size(); ++i) position[candidate[i]] = i;
    bool moved = false;
    const int moves = 1 + static_cast<int>(random_() % 3);
    for (int i = 0; i < moves; ++i) moved |= Move(candidate, position);
    if (!moved) {
      ++idle;
      continue;
    }
    idle = 0;
    const double left = 1.0 - static_cast<double>(work_ - begin) / static_cast<double>(work);
    const auto slack =
        static_cast<Picoseconds>(kFirstSlack * left * left * static_cast<double>(*best_));
    const OrderTime time = Try(candidate, std::max(current_time, *best_ + slack));
    if (!time.has_value()) continue;
    current = std::move(candidate);
    current_time = *time;
  }
}

std::vector<std::vector<Index>> Subgraphs(const TimeProblem& problem,
                                          const TimeSearchOptions& options) {
  Dag dag;
  dag.nodes = static_cast<int>(problem.tasks.size());
  for (size_t t = 0; t < problem.tasks.size(); ++t) {
    for (const Index p : problem.tasks[t].predecessors) {
      dag.edges.emplace_back(static_cast<int>(p), static_cast<int>(t));
    }
  }
  std::vector<std::vector<Index>> result;
  const auto between = CutAtKeyNodes(dag, options.smallest_subgraph);
  if (!between.ok()) return {SourceOrderOf(problem)};
  // Who wants one subgraph gets it whole.
  const int largest = std::max(options.largest_subgraph, options.smallest_subgraph);
  for (const std::vector<int>& part : CutAtForksAndJoins(dag, *between, largest)) {
    result.emplace_back(part.begin(), part.end());
    std::sort(result.back().begin(), result.back().end());
  }
  return result;
}

// Separate searches of subgraphs get this part of the budget in addition.
constexpr int64_t kSubgraphPart = 4;

class Finder {
 public:
  Finder(const TimeProblem& problem, const TimeSearchOptions& options)
      : problem_(problem),
        options_(options),
        view_(MemoryViewOf(problem)),
        search_(problem, Enough(), options.seed),
        progress_(options.progress, WithSubgraphs(options.work_budget)) {}

  TimeOrder Run() {
    TryBaselines();
    result_.orders = CountOrders(view_, options_.count_budget);
    if (!search_.IsDone()) Search();
    result_.order = search_.order();
    result_.chosen = search_.best();
    result_.peak_bytes = search_.peak_bytes();
    result_.tried = search_.tried();
    result_.stuck = search_.stuck();
    if (result_.chosen.has_value() && *result_.chosen <= result_.bound.bound) {
      result_.exact = true;
    }
    return std::move(result_);
  }

 private:
  static int64_t WithSubgraphs(int64_t budget) {
    return std::min(budget, INT64_MAX / 2) + budget / kSubgraphPart;
  }

  /// Returns a makespan that is as good as any.
  Picoseconds Enough() {
    result_.bound = TimeBoundOf(problem_);
    return std::max(result_.bound.bound, options_.target);
  }

  void TryBaselines() {
    if (!options_.start.empty()) search_.Try(options_.start);
    result_.source = search_.Try(SourceOrderOf(problem_));
    result_.list = search_.Try(ListOrderOf(problem_));
    const auto count = static_cast<int64_t>(std::max<size_t>(problem_.tasks.size(), 1));
    const int64_t affordable =
        std::clamp<int64_t>(options_.work_budget / 4 / count, 1, options_.random_orders);
    for (int64_t i = 0; i < affordable; ++i) {
      const OrderTime time =
          search_.Try(RandomOrder(view_, options_.seed + static_cast<uint64_t>(i)));
      if (time.has_value()) result_.random = std::min(result_.random.value_or(*time), *time);
    }
  }

  void Search() {
    search_.ReportTo(progress_, 0);
    const auto count = static_cast<int64_t>(problem_.tasks.size());
    if (result_.orders.has_value() &&
        *result_.orders <= static_cast<uint64_t>(options_.work_budget / 2 / count)) {
      search_.TryAll();
      result_.exact = options_.target == 0 || !search_.IsDone();
      return;
    }
    TryOrdersByRule();
    TrySubgraphs();
    if (!search_.IsDone()) TryWithoutMemory();
    search_.Anneal(options_.work_budget - search_.work());
  }

  /// Tries orders with small peaks, which need the fewest transfers; and orders by tails alone.
  void TryOrdersByRule() {
    MemoryOrderOptions memory;
    memory.work_budget = std::min<int64_t>(options_.work_budget / 100, 20'000);
    memory.count_budget = 0;
    memory.seed = options_.seed;
    search_.Try(FindMemoryOrder(view_, memory).order);
    const std::vector<Picoseconds> tails = TailsOf(problem_);
    search_.Try(OrderByPriority(problem_, std::vector<double>(tails.begin(), tails.end())));
  }

  /// Tries the order that is best if nothing is moved and memory has room for all. Where the search
  /// for it is exact, nothing takes less.
  void TryWithoutMemory() {
    constexpr int64_t kLooksPerWork = 8;  // about a quarter of the time of the work
    if (problem_.units < 2) return;
    const SegmentProblem tasks = WithoutMemory(problem_);
    SegmentSearchOptions options;
    options.work_budget = std::min(options_.work_budget, INT64_MAX / 16) * kLooksPerWork;
    const SegmentSearch found = SearchSegments(tasks, options);
    result_.bound.bound = std::max(result_.bound.bound, found.bound);
    search_.BeContentWith(std::max(result_.bound.bound, options_.target));
    std::vector<Index> order;
    for (const SegmentOps& segment : found.list) {
      for (const int32_t task : segment.ops) order.push_back(static_cast<Index>(task));
    }
    search_.Try(order);
  }

  /// What earlier subgraphs leave behind: ends of tasks, and until when units work.
  struct Carried {
    std::vector<Picoseconds> end;   ///< by task
    std::vector<Picoseconds> free;  ///< by unit
  };

  /// Gives the part what units still have to do when its first task could begin (docs/methods.md,
  /// C5). Returns that time.
  Picoseconds CarryOver(const Carried& carried, const std::vector<Index>& numbers,
                        TimeProblem& part) const {
    Picoseconds begin = INT64_MAX;
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (!part.tasks[i].predecessors.empty()) continue;
      Picoseconds ready = 0;
      for (const Index p : problem_.tasks[numbers[i]].predecessors) {
        ready = std::max(ready, carried.end[p]);
      }
      begin = std::min(begin, ready);
    }
    bool any = false;
    for (const Picoseconds free : carried.free) {
      part.busy.push_back(std::max<Picoseconds>(0, free - begin));
      any = any || part.busy.back() > 0;
    }
    if (!any) part.busy.clear();  // so that it equals parts at the very start
    return begin;
  }

  static void NoteEnds(const TimeProblem& part, const std::vector<Index>& order,
                       const std::vector<Index>& numbers, Picoseconds begin, Carried& carried) {
    for (const TimeEvent& event : TimeEvaluator(part).Record(order).events) {
      if (event.kind != TimeEventKind::kTask) continue;
      const Picoseconds end = begin + event.end;
      carried.end[numbers[event.index]] = end;
      Picoseconds& free = carried.free[part.tasks[event.index].unit];
      free = std::max(free, end);
    }
  }

  /// Searches each subgraph separately, identical ones once (docs/methods.md, C9), and joins them.
  void TrySubgraphs() {
    const auto parts = Subgraphs(problem_, options_);
    std::map<std::string, std::pair<std::vector<Index>, TimeSubgraph>> known;
    std::vector<Index> order;
    Carried carried{std::vector<Picoseconds>(problem_.tasks.size(), 0),
                    std::vector<Picoseconds>(problem_.units, 0)};
    const int64_t budget = options_.work_budget / kSubgraphPart;
    for (const std::vector<Index>& numbers : parts) {
      TimeProblem part = TimePartOf(problem_, numbers);
      const Picoseconds begin = CarryOver(carried, numbers, part);
      const auto [entry, is_new] = known.try_emplace(CanonicalForm(part));
      auto& [part_order, report] = entry->second;
      if (is_new) {
        const auto share =
            static_cast<int64_t>(static_cast<double>(budget) * static_cast<double>(numbers.size()) /
                                 static_cast<double>(problem_.tasks.size()));
        std::tie(part_order, report) = SearchPart(part, share);
      } else {
        report.shared = true;
      }
      NoteEnds(part, part_order, numbers, begin, carried);
      for (const Index t : part_order) order.push_back(numbers[t]);
      result_.subgraphs.push_back(report);
    }
    search_.ReportTo(progress_, part_work_);
    search_.Try(order);
  }

  std::pair<std::vector<Index>, TimeSubgraph> SearchPart(const TimeProblem& part, int64_t work) {
    OrderSearch search(part, TimeBoundOf(part).bound, options_.seed);
    search.ReportTo(progress_, search_.work() + part_work_);
    TimeSubgraph report;
    report.tasks = part.tasks.size();
    report.orders = CountOrders(MemoryViewOf(part), options_.count_budget);
    search.Try(SourceOrderOf(part));
    search.Try(ListOrderOf(part));
    const auto count = static_cast<int64_t>(part.tasks.size());
    if (report.orders.has_value() && *report.orders <= static_cast<uint64_t>(work / count)) {
      search.TryAll();
      report.exact = true;
    } else {
      search.Anneal(work - search.work());
    }
    part_work_ += search.work();
    report.tried = search.tried();
    report.exact = report.exact || search.IsDone();
    return {search.best().has_value() ? search.order() : SourceOrderOf(part), report};
  }

  const TimeProblem& problem_;
  const TimeSearchOptions& options_;
  TimeOrder result_;
  MemoryProblem view_;
  OrderSearch search_;
  Progress progress_;
  int64_t part_work_ = 0;  ///< spent on subgraphs
};

}  // namespace

TimeOrder FindTimeOrder(const TimeProblem& problem, const TimeSearchOptions& options) {
  if (problem.tasks.empty()) {
    TimeOrder nothing;
    nothing.source = nothing.random = nothing.list = nothing.chosen = 0;
    nothing.exact = true;
    return nothing;
  }
  return Finder(problem, options).Run();
}

}  // namespace tenon::converter
