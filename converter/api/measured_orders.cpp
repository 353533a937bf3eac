#include "converter/api/measured_orders.hpp"

#include <algorithm>
#include <optional>
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
OrderMode ModeOf(size_t order) {
  return order == 0 ? OrderMode::kSearch : order == 1 ? OrderMode::kSource : OrderMode::kRandom;
}

std::string Describe(const MeasuredOrder& order, OrderMode mode) {
  return mode == OrderMode::kRandom ? fmt::format("{} order, seed {}", order.order, order.seed)
                                    : fmt::format("{} order", order.order);
}

class Measurement {
 public:
  Measurement(const ConvertOptions& options, const ConvertRequest::MeasuredOrders& measured)
      : options_(options), target_(*measured.target), rounds_(std::max(1, measured.rounds)) {
    const uint64_t seed = options.compile.order.seed;
    for (size_t i = 0; i < static_cast<size_t>(std::max(1, measured.orders)); ++i) {
      MeasuredOrder order;
      order.order = Name(ModeOf(i));
      order.seed = i < 2 ? seed : seed + i - 2;
      orders_.push_back(order);
    }
    if (const Unit* unit = ComputeUnit(options.board)) threads_ = std::max(1, unit->threads);
  }

  Result<MeasuredConversion> Run() {
    Progress("reading", 0, 1);
    TENON_ASSIGN_OR_RETURN(const Graph graph,
                           ImportModel(options_.model, options_.import, FoldTensors));
    for (size_t i = 0; i < orders_.size(); ++i) TENON_RETURN_IF_ERROR(Compile(graph, i));
    if (plans_.empty()) return *search_error_;
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
    options.compile.order.mode = ModeOf(index);
    options.compile.order.seed = order.seed;
    options.progress = [&](const std::string& phase, int step, int steps) {
      Progress(fmt::format("order {} of {} ({}): {}", index + 1, orders_.size(),
                           Describe(order, ModeOf(index)), phase),
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

  /// Measures all plans in turn, so that a disturbance does not decide between them, records the
  /// best times, and returns the plan to keep.
  StoredPlan& Fastest() {
    const int total = rounds_ * static_cast<int>(plans_.size());
    int index = 0;
    for (int round = 0; round < rounds_; ++round) {
      for (StoredPlan& stored : plans_) {
        Progress("measuring the " + Describe(orders_[stored.order], ModeOf(stored.order)), ++index,
                 total);
        const double ms = target_.MedianMs(stored.order, threads_);
        stored.ms = round == 0 ? ms : std::min(stored.ms, ms);
        orders_[stored.order].ms = stored.ms;
      }
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
    if (!order.dropped.empty()) json["dropped"] = order.dropped;
    orders.push_back(std::move(json));
  }
  return orders;
}

}  // namespace tenon::converter
