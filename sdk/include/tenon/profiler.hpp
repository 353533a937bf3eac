// Tenon profiler: measures what ops take on this machine, for conversions
// (ConvertRequest::profile). Link tenon::converter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tenon/converter.hpp"

namespace tenon {
inline namespace api_v1 {

/// The fields are the options of `tenon profile`, whose help text explains each.
struct ProfileRequest {
  std::string board;                ///< that conversions will be for
  std::vector<std::string> models;  ///< paths: their ops are measured
  int64_t batch = 1;                ///< value of a free first dimension of their inputs
  int iterations = 30;              ///< runs of each network
  int threads = 1;                  ///< that conversions will be for
  bool sweep = true;                ///< measure the built-in networks too
  bool tuning = true;               ///< try the variants of kernels on the models' ops
  bool priority_table = false;      ///< rank the board's backends for every kind of op
  /// Told before each network's turn: what is done, with which, and its place. May be empty.
  std::function<void(const std::string& phase, const std::string& network, int index, int count)>
      progress;
};

struct MeasuredProfile {
  std::string json;  ///< a profile file
  size_t ops = 0;
  size_t networks = 0;
  int threads = 1;
  std::string processor;
  double spread = 0;       ///< of repeated runs: above a quarter, the machine was busy
  double model_error = 0;  ///< mean, of the calibrated cost model
  size_t tuned_ops = 0;    ///< that run faster with another variant of their kernel
};

/// Runs networks on this machine for minutes. Throws nothing, as Convert.
[[nodiscard]] Outcome<MeasuredProfile> MakeProfile(const ProfileRequest& request);

}  // namespace api_v1
}  // namespace tenon
