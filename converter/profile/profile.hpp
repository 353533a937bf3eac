// Defines a profile: the times of ops on one machine, and the calibration of the analytic model by
// them (docs/methods.md, C7b, R2). `tenon profile` makes it; docs/profile-format.md describes its
// JSON.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "converter/board/board.hpp"
#include "converter/cost/features.hpp"
#include "converter/profile/calibration.hpp"
#include "converter/profile/tuning.hpp"
#include "converter/status.hpp"

namespace tenon::converter {

inline constexpr int kProfileVersion = 1;

/// Summarises the durations of one op or model over repeated runs, in milliseconds.
struct Durations {
  int64_t runs = 0;
  double min_ms = 0;
  /// Mean of undisturbed runs, as the function that summarises them says: disturbances only make a
  /// run longer.
  double mean_ms = 0;
  /// Mean of all runs over `mean_ms`, less 1: 0 on a quiet machine.
  double spread = 0;
};

/// Summarises samples in any unit of which `per_ms` are a millisecond, by the mean of the faster
/// half. Sorts `samples`.
[[nodiscard]] Durations Summarise(std::vector<double>& samples, double per_ms);
/// What a millisecond has of the clocks' unit.
constexpr double kNanosecondsPerMs = 1e6;

/// Summarises samples of equally long rounds, which follow each other, by the mean of the middle
/// half of the fastest round: a machine that others share may be slow for whole rounds. Sorts
/// `samples`.
[[nodiscard]] Durations SummariseRounds(std::vector<double>& samples, int rounds, double per_ms);

/// Contains one op signature and its times over all places where it occurs.
struct ProfileEntry {
  std::string signature;
  std::string unit;
  std::string kernel;
  int places = 0;  ///< ops in all models and sweeps that have it
  Durations durations;
  CostTerms kernel_terms;
  CostTerms kind_terms;
};

/// Describes one model that was run, or one network of the built-in sweep.
struct ProfiledModel {
  std::string name;
  bool sweep = false;
  Durations latency;
  double network_bytes = 0;  ///< constants, and the activations of the largest op
  struct Step {
    int32_t entry;   ///< index into Profile::entries
    double mean_ms;  ///< of this op here, as Durations::mean_ms
  };
  std::vector<Step> steps;  ///< in the plan's order
};

struct Profile {
  std::string board;
  int threads = 1;
  MachineFacts machine;
  std::vector<ProfileEntry> entries;  ///< one per unit and signature
  std::vector<ProfiledModel> models;
  Calibration calibration;
  /// A measured priority table, which conversions with this profile use before the board's. Empty
  /// if none was asked for.
  std::vector<Priority> priorities;
  Tuning tuning;  ///< variants of kernels that conversions with this profile use

  /// Adds a run's op to the entry of its unit and signature; returns the entry's index.
  int32_t AddOp(ProfileEntry op);

 private:
  std::map<std::string, int32_t> by_key_;
};

/// Returns samples for Calibrate: every entry in every model, except models that `leave_out` (by
/// index into `models`) marks. With `sweep`, those of the built-in sweep are included.
[[nodiscard]] std::vector<CalibrationSample> CalibrationSamples(const Profile& profile,
                                                                const std::vector<bool>& leave_out,
                                                                bool sweep);

/// Returns the text of a profile file. It depends only on the profile: equal profiles give equal
/// bytes.
[[nodiscard]] std::string FormatProfile(const Profile& profile);

/// Parses a profile. Errors (kInput): no JSON, unknown or missing keys, wrong types, numbers that
/// no measurement gives; the message names the key.
[[nodiscard]] Result<Profile> ParseProfile(std::string_view json, const std::string& file_name);
[[nodiscard]] Result<Profile> LoadProfile(const std::string& path);

}  // namespace tenon::converter
