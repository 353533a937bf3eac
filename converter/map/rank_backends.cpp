#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "converter/map/priority_table.hpp"

namespace tenon::converter {
namespace {

/// Contains one op with its weighted time on each backend.
struct Sample {
  OpFacts facts;
  std::map<std::string, double> ms;
};

/// Describes a fact that rows may bound, and how.
struct Feature {
  int64_t (*value)(const OpFacts& facts);
  void (*set_most)(PriorityConstraints& when, int64_t most);
  void (*set_least)(PriorityConstraints& when, int64_t least);
};

constexpr std::array<Feature, 3> kFeatures = {{
    {[](const OpFacts& facts) -> int64_t { return facts.kernel; },
     [](PriorityConstraints& when, int64_t most) { when.max_kernel = static_cast<int32_t>(most); },
     [](PriorityConstraints& when, int64_t least) {
       when.min_kernel = static_cast<int32_t>(least);
     }},
    {[](const OpFacts& facts) -> int64_t { return facts.channels; },
     [](PriorityConstraints& when, int64_t most) {
       when.max_channels = static_cast<int32_t>(most);
     },
     [](PriorityConstraints& when, int64_t least) {
       when.min_channels = static_cast<int32_t>(least);
     }},
    {[](const OpFacts& facts) -> int64_t { return facts.elements; },
     [](PriorityConstraints& when, int64_t most) { when.max_elements = most; },
     [](PriorityConstraints& when, int64_t least) { when.min_elements = least; }},
}};

using Totals = std::map<std::string, double>;

double Least(const Totals& totals) {
  double least = totals.begin()->second;
  for (const auto& [backend, ms] : totals) least = std::min(least, ms);
  return least;
}

Totals TotalsOf(const std::vector<const Sample*>& samples) {
  Totals totals;
  for (const Sample* sample : samples) {
    for (const auto& [backend, ms] : sample->ms) totals[backend] += ms;
  }
  return totals;
}

struct Bound {
  const Feature* feature = nullptr;
  int64_t most = 0;  ///< of the lower side
  double ms = 0;     ///< of both sides, each on its fastest backend
};

/// Finds the best bound on one feature. Visits the samples in order of the feature and moves each
/// from the upper side to the lower.
void TryBounds(const Feature& feature, std::vector<const Sample*> samples, Bound& best) {
  std::stable_sort(samples.begin(), samples.end(), [&](const Sample* a, const Sample* b) {
    return feature.value(a->facts) < feature.value(b->facts);
  });
  Totals upper = TotalsOf(samples);
  Totals lower;
  for (const auto& [backend, ms] : upper) lower[backend] = 0;
  for (size_t i = 0; i + 1 < samples.size(); ++i) {
    for (const auto& [backend, ms] : samples[i]->ms) {
      lower[backend] += ms;
      upper[backend] -= ms;
    }
    const int64_t value = feature.value(samples[i]->facts);
    if (value < 0 || feature.value(samples[i + 1]->facts) == value) continue;
    const double ms = Least(lower) + Least(upper);
    if (ms < best.ms) best = {&feature, value, ms};
  }
}

void AddRows(const std::string& op, const Totals& totals, const PriorityConstraints& when,
             std::vector<Priority>& rows) {
  std::vector<std::pair<double, std::string>> ranked;
  for (const auto& [backend, ms] : totals) ranked.emplace_back(ms, backend);
  std::sort(ranked.begin(), ranked.end());
  int priority = 1;
  for (const auto& [ms, backend] : ranked) rows.push_back({backend, op, priority++, when});
}

void RankKind(const std::string& op, const std::vector<const Sample*>& samples,
              std::vector<Priority>& rows) {
  constexpr double kWorthwhile = 0.97;
  const Totals totals = TotalsOf(samples);
  Bound best;
  best.ms = kWorthwhile * Least(totals);
  for (const Feature& feature : kFeatures) TryBounds(feature, samples, best);
  if (best.feature == nullptr) {
    AddRows(op, totals, {}, rows);
    return;
  }
  std::vector<const Sample*> lower;
  std::vector<const Sample*> upper;
  for (const Sample* sample : samples) {
    (best.feature->value(sample->facts) <= best.most ? lower : upper).push_back(sample);
  }
  PriorityConstraints at_most;
  best.feature->set_most(at_most, best.most);
  PriorityConstraints beyond;
  best.feature->set_least(beyond, best.most + 1);
  AddRows(op, TotalsOf(lower), at_most, rows);
  AddRows(op, TotalsOf(upper), beyond, rows);
}

/// Stores samples by kind of op and key.
using Samples = std::map<std::string, std::map<std::string, Sample>>;

/// Returns those of the kind that were measured on every backend used for any of them.
std::vector<const Sample*> Comparable(const std::map<std::string, Sample>& of_kind) {
  std::set<std::string> backends;
  for (const auto& [key, sample] : of_kind) {
    for (const auto& [backend, ms] : sample.ms) backends.insert(backend);
  }
  std::vector<const Sample*> comparable;
  if (backends.size() < 2) return comparable;
  for (const auto& [key, sample] : of_kind) {
    if (sample.ms.size() == backends.size()) comparable.push_back(&sample);
  }
  return comparable;
}

}  // namespace

std::vector<Priority> RankBackends(const std::vector<MeasuredOp>& measured) {
  Samples samples;
  for (const MeasuredOp& op : measured) {
    Sample& sample = samples[op.facts.op][op.key];
    sample.facts = op.facts;
    // The same op may have been found in several layouts; the fastest one counts.
    const double ms = op.ms * op.places;
    const auto [at, is_new] = sample.ms.emplace(op.backend, ms);
    if (!is_new) at->second = std::min(at->second, ms);
  }
  std::vector<Priority> rows;
  for (const auto& [op, of_kind] : samples) {
    const std::vector<const Sample*> comparable = Comparable(of_kind);
    if (!comparable.empty()) RankKind(op, comparable, rows);
  }
  return rows;
}

}  // namespace tenon::converter
