#include "converter/api/measured_orders.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <tuple>
#include <utility>

#include "converter/driver/import_model.hpp"
#include "converter/fold/fold_tensors.hpp"
#include "converter/measure/this_machine.hpp"
#include "converter/report/decisions.hpp"

namespace tenon::converter {
namespace {

/// A plan to measure. The target keeps its bytes, so that large models are in memory only once.
struct StoredPlan {
  Conversion conversion;  ///< without the plan
  size_t bytes = 0;
  size_t order = 0;  ///< index of the order, and the plan's number on the target
  double ms = 0;
};

/// Order 0 is the search's, which a conversion without a target uses.
OrderMode ModeOf(const MeasuredOrder& order) {
  for (const OrderMode mode : {OrderMode::kSearch, OrderMode::kSource, OrderMode::kRandom}) {
    if (order.order == Name(mode)) return mode;
  }
  return OrderMode::kGiven;
}

std::string Describe(const MeasuredOrder& order) {
  const OrderMode mode = ModeOf(order);
  return mode == OrderMode::kRandom || mode == OrderMode::kGiven
             ? fmt::format("{} order, seed {}", order.order, order.seed)
             : fmt::format("{} order", order.order);
}

/// Of so many orders the last ones are proposed from measurements.
size_t CountProposed(size_t orders) { return orders < 2 ? 0 : (orders - 2) / 2; }

class Measurement {
 public:
  Measurement(const ConvertOptions& options, const ConvertRequest::MeasuredOrders& measured)
      : options_(options), target_(*measured.target), rounds_(std::max(1, measured.rounds)) {
    const uint64_t seed = options.compile.order.seed;
    const auto count = static_cast<size_t>(std::max(1, measured.orders));
    for (size_t i = 0; i < count; ++i) {
      MeasuredOrder order;
      const bool proposed = i + CountProposed(count) >= count;
      order.order = i == 0     ? Name(OrderMode::kSearch)
                    : i == 1   ? Name(OrderMode::kSource)
                    : proposed ? "proposed"
                               : Name(OrderMode::kRandom);
      order.seed = i < 2 ? seed : seed + i - 2;
      orders_.push_back(order);
    }
    if (const Unit* unit = ComputeUnit(options.board)) threads_ = std::max(1, unit->threads);
  }

  Result<MeasuredConversion> Run() {
    Progress("reading", 0, 1);
    TENON_ASSIGN_OR_RETURN(const Graph graph,
                           ImportModel(options_.model, options_.import, FoldTensors));
    // The first round measures each as soon as it is made, because proposals need the times.
    const size_t first_proposed = orders_.size() - CountProposed(orders_.size());
    for (size_t i = 0; i < first_proposed; ++i) TENON_RETURN_IF_ERROR(Compile(graph, i));
    if (plans_.empty()) return *search_error_;
    unproposed_ = orders_.size() - first_proposed;
    for (StoredPlan& stored : plans_) Measure(stored, 0);
    for (size_t i = first_proposed; i < orders_.size(); ++i) {
      Propose(i);
      --unproposed_;
      const size_t plans = plans_.size();
      TENON_RETURN_IF_ERROR(Compile(graph, i));
      if (plans_.size() > plans) Measure(plans_.back(), 0);
    }
    StoredPlan& chosen = Fastest();
    chosen.conversion.plan = target_.Load(chosen.order);
    return MeasuredConversion{std::move(chosen.conversion), std::move(orders_)};
  }

 private:
  void Progress(const std::string& phase, int index, int count) const {
    if (options_.progress) options_.progress(phase, index, count);
  }

  Status Compile(const Graph& graph, size_t index) {
    MeasuredOrder& order = orders_[index];
    ConvertOptions options = options_;
    options.compile.order.mode = ModeOf(order);
    options.compile.order.seed = order.seed;
    options.compile.order.priority = priority_;
    options.progress = [&](const std::string& phase, int step, int steps) {
      Progress(
          fmt::format("order {} of {} ({}): {}", index + 1, orders_.size(), Describe(order), phase),
          step, steps);
    };
    Result<Conversion> conversion = ConvertGraph(graph, options);
    if (!conversion.ok()) {
      if (conversion.error().kind != ErrorKind::kDoesNotFit) return conversion.error();
      order.dropped = conversion.error().message;
      if (index == 0) search_error_ = conversion.error();
      return {};
    }
    order.arena_bytes = conversion->memory.arena_bytes;
    const std::vector<uint8_t> plan = std::exchange(conversion->plan, {});
    order.same_as = SamePlan(plan);
    if (order.same_as) return {};
    target_.Store(index, plan);
    plans_.push_back({std::move(*conversion), plan.size(), index});
    return {};
  }

  [[nodiscard]] std::optional<size_t> SamePlan(const std::vector<uint8_t>& plan) const {
    for (const StoredPlan& stored : plans_) {
      if (stored.bytes == plan.size() && target_.Load(stored.order) == plan) return stored.order;
    }
    return std::nullopt;
  }

  void Measure(StoredPlan& stored, int round) {
    Progress("measuring the " + Describe(orders_[stored.order]), ++measured_,
             rounds_ * static_cast<int>(plans_.size() + unproposed_));
    const double ms = target_.MedianMs(stored.order, threads_);
    stored.ms = round == 0 ? ms : std::min(stored.ms, ms);
    orders_[stored.order].ms = stored.ms;
  }

  /// Draws priorities for order `index` from the orders measured so far, by the cross-entropy
  /// method (R. Rubinstein 1999): an op's place is near its mean place in them, the fast ones
  /// counting most, and as uncertain as it differs among these. The seed and the times decide,
  /// nothing else.
  void Propose(size_t index) {
    const auto by_time = [](const StoredPlan& a, const StoredPlan& b) { return a.ms < b.ms; };
    const auto [best, worst] = std::minmax_element(plans_.begin(), plans_.end(), by_time);
    const size_t ops = best->conversion.order.executed.size();
    std::vector<double> sum(ops, 0);
    std::vector<double> squares(ops, 0);
    double weights = 0;
    for (const StoredPlan& stored : plans_) {
      const std::vector<Index>& executed = stored.conversion.order.executed;
      if (executed.size() != ops) continue;  // split in another way
      const double slower = stored.ms - best->ms;
      const double weight =
          worst->ms > best->ms ? std::exp(-4 * slower / (worst->ms - best->ms)) : 1;
      weights += weight;
      for (size_t place = 0; place < ops; ++place) {
        const auto at = static_cast<double>(place);
        sum[executed[place]] += weight * at;
        squares[executed[place]] += weight * at * at;
      }
    }
    std::mt19937_64 random(orders_[index].seed);
    priority_.assign(ops, 0);
    for (size_t op = 0; op < ops; ++op) {
      const double mean = sum[op] / weights;
      const double deviation = std::sqrt(std::max(0.0, squares[op] / weights - mean * mean));
      // A sum of uniform numbers: the standard does not fix what its distributions draw.
      double noise = 0;
      for (int i = 0; i < 4; ++i) noise += static_cast<double>(random() % 2048) / 1024 - 1;
      priority_[op] = -(mean + (deviation + 0.5) * noise);
    }
    orders_[index].varies = best->order;
  }

  /// Measures all plans in turn, so that a disturbance does not decide between them, records the
  /// best times, and returns the plan to keep.
  StoredPlan& Fastest() {
    for (int round = 1; round < rounds_; ++round) {
      for (StoredPlan& stored : plans_) Measure(stored, round);
    }
    const auto rank = [](const StoredPlan& stored) {
      return std::tuple(stored.ms, stored.conversion.memory.arena_bytes, stored.order);
    };
    const auto best = std::min_element(
        plans_.begin(), plans_.end(),
        [&](const StoredPlan& a, const StoredPlan& b) { return rank(a) < rank(b); });
    for (MeasuredOrder& order : orders_) {
      if (order.same_as) order.ms = orders_[*order.same_as].ms;
    }
    orders_[best->order].chosen = true;
    return *best;
  }

  const ConvertOptions& options_;
  OrderTarget& target_;
  const int rounds_;
  int threads_ = 1;
  int measured_ = 0;              ///< calls of the target so far
  size_t unproposed_ = 0;         ///< orders that will be proposed
  std::vector<double> priority_;  ///< of the order that is proposed
  std::vector<MeasuredOrder> orders_;
  std::vector<StoredPlan> plans_;
  std::optional<Error> search_error_;
};

}  // namespace

Result<MeasuredConversion> ConvertMeasured(const ConvertOptions& options,
                                           const ConvertRequest::MeasuredOrders& measured) {
  if (measured.target->IsThisMachine()) {
    TENON_RETURN_IF_ERROR(CheckIsThisMachine(options.board));
  }
  return Measurement(options, measured).Run();
}

nlohmann::ordered_json MeasuredJson(const std::vector<MeasuredOrder>& measured) {
  using Json = nlohmann::ordered_json;
  Json orders = Json::array();
  for (const MeasuredOrder& order : measured) {
    Json json = {{"order", order.order},
                 {"seed", order.seed},
                 {"ms", order.ms ? Json(*order.ms) : Json(nullptr)},
                 {"arena_bytes", order.arena_bytes ? Json(*order.arena_bytes) : Json(nullptr)},
                 {"chosen", order.chosen}};
    if (order.same_as) json["same_as"] = *order.same_as;
    if (order.varies) json["varies"] = *order.varies;
    if (!order.dropped.empty()) json["dropped"] = order.dropped;
    orders.push_back(std::move(json));
  }
  return orders;
}

}  // namespace tenon::converter
