#include "converter/profile/profile.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace tenon::converter {

Durations Summarise(std::vector<double>& samples, double per_ms) {
  Durations durations;
  if (samples.empty()) return durations;
  std::sort(samples.begin(), samples.end());
  const size_t half = (samples.size() + 1) / 2;
  double fast = 0;
  double all = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    all += samples[i];
    if (i < half) fast += samples[i];
  }
  durations.runs = static_cast<int64_t>(samples.size());
  durations.min_ms = samples[0] / per_ms;
  durations.mean_ms = fast / static_cast<double>(half) / per_ms;
  const double mean_of_all = all / static_cast<double>(samples.size()) / per_ms;
  durations.spread = durations.mean_ms > 0 ? mean_of_all / durations.mean_ms - 1 : 0;
  return durations;
}

Durations SummariseRounds(std::vector<double>& samples, int rounds, double per_ms) {
  const size_t count = std::min(static_cast<size_t>(std::max(rounds, 1)), samples.size());
  double fastest = std::numeric_limits<double>::infinity();
  for (size_t round = 0; round < count; ++round) {
    const auto begin = samples.begin() + static_cast<ptrdiff_t>(samples.size() * round / count);
    const auto end = samples.begin() + static_cast<ptrdiff_t>(samples.size() * (round + 1) / count);
    std::sort(begin, end);
    const ptrdiff_t quarter = (end - begin) / 4;
    const double sum = std::accumulate(begin + quarter, end - quarter, 0.0);
    fastest = std::min(fastest, sum / static_cast<double>(end - begin - 2 * quarter));
  }
  Durations durations = Summarise(samples, per_ms);
  if (count == 0) return durations;
  const double mean_of_all = durations.mean_ms * (1 + durations.spread);
  durations.mean_ms = fastest / per_ms;
  durations.spread = durations.mean_ms > 0 ? mean_of_all / durations.mean_ms - 1 : 0;
  return durations;
}

int32_t Profile::AddOp(ProfileEntry op) {
  const auto [found, is_new] =
      by_key_.emplace(op.unit + " " + op.signature, static_cast<int32_t>(entries.size()));
  if (is_new) {
    op.places = 1;
    entries.push_back(std::move(op));
    return found->second;
  }
  ProfileEntry& entry = entries[static_cast<size_t>(found->second)];
  Durations& sum = entry.durations;
  const Durations& more = op.durations;
  const auto before = static_cast<double>(sum.runs);
  const auto added = static_cast<double>(more.runs);
  const auto join = [&](double a, double b) { return (a * before + b * added) / (before + added); };
  if (before + added > 0) {
    sum.mean_ms = join(sum.mean_ms, more.mean_ms);
    sum.spread = join(sum.spread, more.spread);
  }
  sum.min_ms = std::min(sum.min_ms, more.min_ms);
  sum.runs += more.runs;
  ++entry.places;
  return found->second;
}

std::vector<CalibrationSample> CalibrationSamples(const Profile& profile,
                                                  const std::vector<bool>& leave_out, bool sweep) {
  struct Sum {
    double ms = 0;
    int places = 0;
  };
  std::vector<CalibrationSample> samples;
  for (size_t m = 0; m < profile.models.size(); ++m) {
    const ProfiledModel& model = profile.models[m];
    if ((model.sweep && !sweep) || (m < leave_out.size() && leave_out[m])) continue;
    std::map<int32_t, Sum> sums;
    for (const ProfiledModel::Step& step : model.steps) {
      sums[step.entry].ms += step.mean_ms;
      ++sums[step.entry].places;
    }
    for (const auto& [index, sum] : sums) {
      const ProfileEntry& entry = profile.entries[static_cast<size_t>(index)];
      samples.push_back({InNetwork(entry.kernel_terms, model.network_bytes, profile.machine),
                         entry.kind_terms, sum.ms / sum.places, 1.0});
    }
  }
  return samples;
}

}  // namespace tenon::converter
