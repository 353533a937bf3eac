// How well the calibrated cost model predicts models that it was not calibrated on:
//   tenon profile --board x86-64 --model A.onnx --model B.onnx ... -o profile.json
//   cost_model_bench profile.json [--residuals] [--sweep-only]
//
// Leaves one model out at a time (with the others from its folder, which are variants of it),
// calibrates on the other models and the built-in sweep, and predicts the one left out, op by op.
// Then the same by the sweep alone, and by the other models alone. Prints per model the relative
// error of the latency, and Kendall's tau over pairs of ops whose measured times differ by more
// than a tenth: concordant less discordant pairs over all such pairs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "converter/profile/profile.hpp"

namespace tenon::converter {
namespace {

constexpr double kLargeMs = 0.5;

std::string FolderOf(const std::string& name) { return name.substr(0, name.find('/')); }

/// Terms as they are computed today may differ from those in the file; these are the file's.
double Predict(const Profile& profile, const ProfiledModel& model, const Calibration& calibration,
               const ProfileEntry& entry) {
  const CostTerms terms = InNetwork(entry.kernel_terms, model.network_bytes, profile.machine);
  return calibration.PredictMs(terms, entry.kind_terms).value_or(0.0);
}

double KendallTau(const std::vector<double>& measured, const std::vector<double>& predicted) {
  int64_t score = 0;
  int64_t pairs = 0;
  for (size_t a = 0; a < measured.size(); ++a) {
    for (size_t b = a + 1; b < measured.size(); ++b) {
      const double larger = std::max(measured[a], measured[b]);
      const double smaller = std::min(measured[a], measured[b]);
      if (larger <= 1.1 * smaller) continue;
      ++pairs;
      const double difference = (measured[a] - measured[b]) * (predicted[a] - predicted[b]);
      score += difference > 0 ? 1 : (difference < 0 ? -1 : 0);
    }
  }
  return pairs == 0 ? 1.0 : static_cast<double>(score) / static_cast<double>(pairs);
}

struct Outcome {
  double error = 0;
  double tau = 0;
};

void PrintResiduals(const Profile& profile, const ProfiledModel& model,
                    const Calibration& calibration) {
  for (const ProfiledModel::Step& step : model.steps) {
    const ProfileEntry& entry = profile.entries[static_cast<size_t>(step.entry)];
    const double predicted = Predict(profile, model, calibration, entry);
    fmt::print("  {:9.4f} {:9.4f} {:+6.1f}%  {}\n", step.mean_ms, predicted,
               100 * (predicted / step.mean_ms - 1), entry.signature);
  }
}

/// What a prediction may be calibrated on.
struct Sources {
  bool models;
  bool sweep;
  const char* words;
};

Outcome LeaveOut(const Profile& profile, size_t index, const Sources& sources, bool residuals) {
  const ProfiledModel& model = profile.models[index];
  std::vector<bool> leave_out;
  for (const ProfiledModel& other : profile.models) {
    const bool is_variant = FolderOf(other.name) == FolderOf(model.name);
    leave_out.push_back(!other.sweep && (is_variant || !sources.models));
  }
  const Calibration calibration = Calibrate(CalibrationSamples(profile, leave_out, sources.sweep));
  std::vector<double> measured;
  std::vector<double> predicted;
  double sum = 0;
  for (const ProfiledModel::Step& step : model.steps) {
    measured.push_back(step.mean_ms);
    const ProfileEntry& entry = profile.entries[static_cast<size_t>(step.entry)];
    predicted.push_back(Predict(profile, model, calibration, entry));
    sum += predicted.back();
  }
  const Outcome outcome = {sum / model.latency.mean_ms - 1, KendallTau(measured, predicted)};
  fmt::print("{:42} {:5} {:9.4f} {:9.4f} {:+7.1f}% {:7.3f}\n", model.name, model.steps.size(),
             model.latency.mean_ms, sum, 100 * outcome.error, outcome.tau);
  if (residuals) PrintResiduals(profile, model, calibration);
  return outcome;
}

void PrintTable(const Profile& profile, const Sources& sources, bool residuals) {
  fmt::print("calibrated on {}\n", sources.words);
  fmt::print("{:42} {:>5} {:>9} {:>9} {:>8} {:>7}\n", "model left out", "ops", "ms", "predicted",
             "error", "tau");
  double error = 0;
  double tau = 0;
  double worst_tau = 1;
  int large = 0;
  for (size_t i = 0; i < profile.models.size(); ++i) {
    if (profile.models[i].sweep) continue;
    const Outcome outcome = LeaveOut(profile, i, sources, residuals);
    if (profile.models[i].latency.mean_ms <= kLargeMs) continue;
    error += std::abs(outcome.error);
    tau += outcome.tau;
    worst_tau = std::min(worst_tau, outcome.tau);
    ++large;
  }
  if (large == 0) return;
  fmt::print("over {} ms: mean absolute error {:.1f}%, mean tau {:.3f}, smallest {:.3f}\n\n",
             kLargeMs, 100 * error / large, tau / large, worst_tau);
}

int Main(int argc, char** argv) {
  std::string path;
  bool residuals = false;
  bool alone = true;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--residuals") == 0) {
      residuals = true;
    } else if (std::strcmp(argv[i], "--sweep-only") == 0) {
      alone = false;
    } else {
      path = argv[i];
    }
  }
  if (path.empty()) {
    fmt::print(stderr, "usage: cost_model_bench PROFILE.json [--residuals] [--sweep-only]\n");
    return 2;
  }
  const Result<Profile> profile = LoadProfile(path);
  if (!profile.ok()) {
    fmt::print(stderr, "{}\n", profile.error().message);
    return 3;
  }
  if (alone) PrintTable(*profile, {true, true, "the other models and the sweep"}, residuals);
  PrintTable(*profile, {false, true, "the sweep alone"}, residuals);
  if (alone) PrintTable(*profile, {true, false, "the other models alone"}, residuals);
  return 0;
}

}  // namespace
}  // namespace tenon::converter

int main(int argc, char** argv) { return tenon::converter::Main(argc, argv); }
