// tenon bench --per-op: what each op takes, beside what was predicted.
#include <fmt/format.h>

#include <algorithm>

#include "sdk/tools/bench.hpp"
#include "sdk/tools/plan_runner.hpp"
#ifdef TENON_HAS_CONVERTER
#include "sdk/tools/files.hpp"
#include "sdk/tools/predicted_times.hpp"
#include "tenon/inspect.hpp"
#endif

namespace tenon::tool {
namespace {

/// Times of one op, or of whole runs, run after run.
using Times = std::vector<uint64_t>;

double MedianMs(Times times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return static_cast<double>(*middle) / 1e6;
}

/// By op, from the decisions that the plan records, which only a build with the converter can read.
std::vector<std::optional<double>> PredictedOf(const Plan& plan, const std::string& path) {
  std::vector<std::optional<double>> predicted(plan.OpCount());
#ifdef TENON_HAS_CONVERTER
  const auto inspection = InspectPlan(ReadFile(path));
  if (!inspection) return predicted;  // a plan runs without its record
  auto recorded = PredictedOps(nlohmann::ordered_json::parse(inspection->json));
  if (recorded.size() == predicted.size()) predicted = std::move(recorded);
#else
  static_cast<void>(path);
#endif
  return predicted;
}

std::string Row(double ms, double whole, const std::string& predicted, const std::string& rest) {
  return fmt::format("{:9.4f} {:6.2f} {:>10}  {}\n", ms, 100 * ms / whole, predicted, rest);
}

}  // namespace

void TraceOps(const Plan& plan, Session& session, const BenchOptions& options,
              Measurement& result) {
  if (!options.per_op && options.json.empty()) return;
  const auto runs = static_cast<size_t>(std::max(1, options.iterations / 2));
  std::vector<Times> of_ops(plan.OpCount());
  // Ops that an accelerator runs as one with another are not recorded: they take none of their own.
  for (Times& times : of_ops) times.reserve(runs);
  tenon_trace trace{};
  trace.context = &of_ops;
  trace.record = [](void* context, size_t op, uint64_t nanoseconds) {
    (*static_cast<std::vector<Times>*>(context))[op].push_back(nanoseconds);
  };
  trace.clock_nanoseconds = [](void*) { return MonotonicNanoseconds(); };
  Times whole;
  for (size_t i = 0; i < runs; ++i) {
    const uint64_t start = MonotonicNanoseconds();
    if (const auto error = session.RunTraced(trace)) FailWith(*error, "bench");
    whole.push_back(MonotonicNanoseconds() - start);
  }
  for (const Times& times : of_ops) result.op_ms.push_back(times.empty() ? 0 : MedianMs(times));
  result.traced_ms = MedianMs(whole);
  result.predicted_ms = PredictedOf(plan, options.plan);
}

std::string OpTable(const Plan& plan, const Measurement& result) {
  std::vector<size_t> order(result.op_ms.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return result.op_ms[a] > result.op_ms[b]; });
  const double whole = result.traced_ms;
  std::string text = fmt::format("{:>9} {:>6} {:>10}  {:<10} {:<28} {}\n", "median ms", "%",
                                 "predicted", "kind", "kernel", "op");
  double predicted_sum = 0;
  for (const size_t i : order) {
    const tenon_op_info op = plan.Op(i);
    const std::optional<double>& predicted = result.predicted_ms[i];
    predicted_sum += predicted.value_or(0);
    const std::string worker = op.worker[0] == '\0' ? "" : fmt::format(" on {}", op.worker);
    text += Row(result.op_ms[i], whole, predicted ? fmt::format("{:.4f}", *predicted) : "-",
                fmt::format("{:<10} {:<28} {}{}", op.kind, op.kernel, op.name, worker));
  }
  text += Row(result.BetweenOps(), whole, "", "between ops");
  text += Row(whole, whole, predicted_sum > 0 ? fmt::format("{:.4f}", predicted_sum) : "-",
              "the whole, one op after the other");
  return text;
}

}  // namespace tenon::tool
