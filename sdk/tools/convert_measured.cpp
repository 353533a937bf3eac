#include "sdk/tools/convert_measured.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "converter/driver/import_model.hpp"
#include "converter/fold/fold_tensors.hpp"
#include "sdk/tools/converter_error.hpp"
#include "sdk/tools/read_file.hpp"
#include "sdk/tools/temporary_folder.hpp"

namespace tenon::tool {
namespace {

using converter::Conversion;
using converter::MeasuredOrder;
using converter::OrderMode;

/// A plan to measure. Its bytes are in the file, so that big models are held once.
struct Candidate {
  Conversion conversion;
  size_t order = 0;  ///< which of the orders it is
  std::string file;
};

std::vector<MeasuredOrder> OrdersToTry(uint64_t seed, int count) {
  std::vector<MeasuredOrder> orders;
  for (int i = 0; i < count; ++i) {
    MeasuredOrder order;
    // The search first: alone, it is what a conversion without a target gives.
    order.mode = i == 0 ? OrderMode::kSearch : i == 1 ? OrderMode::kSource : OrderMode::kRandom;
    order.seed = i < 2 ? seed : seed + static_cast<uint64_t>(i - 2);
    orders.push_back(order);
  }
  return orders;
}

std::string Describe(const MeasuredOrder& order) {
  return order.mode == OrderMode::kRandom
             ? fmt::format("{} order, seed {}", converter::Name(order.mode), order.seed)
             : fmt::format("{} order", converter::Name(order.mode));
}

class Measurement {
 public:
  Measurement(const converter::ConvertOptions& options, const MeasureOptions& measure)
      : options_(options),
        measure_(measure),
        orders_(OrdersToTry(options.seed, std::min(measure.orders, TemporaryFolder::kMostFiles))) {}

  MeasuredConversion Run() {
    Progress("reading", 0, 1);
    const converter::Result<converter::Graph> graph =
        converter::ImportModel(options_.model, options_.import, converter::FoldTensors);
    if (!graph.ok()) FailWith(graph.error());
    for (size_t i = 0; i < orders_.size(); ++i) Compile(*graph, i);
    if (candidates_.empty()) FailWith(*search_error_);
    const size_t chosen = Fastest();
    Conversion conversion = std::move(candidates_[chosen].conversion);
    conversion.plan = ReadFile(candidates_[chosen].file);
    return {std::move(conversion), std::move(orders_)};
  }

 private:
  void Progress(const std::string& phase, int index, int count) const {
    if (options_.progress) options_.progress(phase, index, count);
  }

  void Compile(const converter::Graph& graph, size_t index) {
    MeasuredOrder& order = orders_[index];
    converter::ConvertOptions options = options_;
    options.order = order.mode;
    options.seed = order.seed;
    options.progress = [&](const std::string& phase, int step, int steps) {
      Progress(
          fmt::format("order {} of {} ({}): {}", index + 1, orders_.size(), Describe(order), phase),
          step, steps);
    };
    converter::Result<Conversion> conversion = converter::ConvertGraph(graph, options);
    if (!conversion.ok()) {
      if (conversion.error().kind != converter::ErrorKind::kDoesNotFit)
        FailWith(conversion.error());
      order.dropped = conversion.error().message;
      if (index == 0) search_error_ = conversion.error();
      return;
    }
    order.arena_bytes = conversion->memory.arena_bytes;
    order.same_as = SamePlan(conversion->plan);
    if (order.same_as) return;
    Candidate candidate{std::move(*conversion), index, ""};
    std::vector<uint8_t>& plan = candidate.conversion.plan;
    candidate.file = folder_.Write(static_cast<int>(index), plan.data(), plan.size());
    plan = {};
    candidates_.push_back(std::move(candidate));
  }

  [[nodiscard]] std::optional<size_t> SamePlan(const std::vector<uint8_t>& plan) const {
    for (const Candidate& candidate : candidates_) {
      if (std::filesystem::file_size(candidate.file) == plan.size() &&
          ReadFile(candidate.file) == plan) {
        return candidate.order;
      }
    }
    return std::nullopt;
  }

  /// Measures all, notes the figures, and gives the candidate to keep.
  size_t Fastest() {
    std::vector<std::string> files;
    for (const Candidate& candidate : candidates_) files.push_back(candidate.file);
    const int total = measure_.rounds * static_cast<int>(files.size());
    const std::vector<TargetLatency> latencies =
        MeasureCandidates(measure_.target, files, measure_.rounds, [&](int round, size_t plan) {
          const int index = round * static_cast<int>(files.size()) + static_cast<int>(plan) + 1;
          Progress("measuring the " + Describe(orders_[candidates_[plan].order]), index, total);
        });
    size_t best = 0;
    const auto rank = [&](size_t i) {
      return std::tuple(latencies[i].median_ms, candidates_[i].conversion.memory.arena_bytes, i);
    };
    for (size_t i = 0; i < latencies.size(); ++i) {
      orders_[candidates_[i].order].ms = latencies[i].median_ms;
      if (rank(i) < rank(best)) best = i;
    }
    for (MeasuredOrder& order : orders_) {
      if (order.same_as) order.ms = orders_[*order.same_as].ms;
    }
    orders_[candidates_[best].order].chosen = true;
    return best;
  }

  const converter::ConvertOptions& options_;
  const MeasureOptions& measure_;
  TemporaryFolder folder_;
  std::vector<MeasuredOrder> orders_;
  std::vector<Candidate> candidates_;
  std::optional<converter::Error> search_error_;
};

}  // namespace

MeasuredConversion ConvertMeasured(const converter::ConvertOptions& options,
                                   const MeasureOptions& measure) {
  return Measurement(options, measure).Run();
}

}  // namespace tenon::tool
