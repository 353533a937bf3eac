// Tenon profiler: measures what ops take on this machine, for conversions
// (ConvertRequest::profile). Link tenon::converter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
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

/// The fields are the options of `tenon profile --self-test`.
struct SelfTestRequest {
  std::string board;                      ///< that stands on the desk
  std::vector<std::string> backends;      ///< to test; empty: all of the board's
  size_t memory_bytes = size_t{4} << 20;  ///< that the walk goes through
  size_t ops_of_each_kind = 4;
  /// Told before each test's turn: of which backend, what, and its place. May be empty.
  std::function<void(const std::string& backend, const std::string& test, int index, int count)>
      progress;
};

/// What the ops of one kind did on one backend.
struct TestedOps {
  std::string kind;
  size_t right = 0;
  size_t wrong = 0;
  size_t failed = 0;       ///< reported an error
  size_t elsewhere = 0;    ///< that the backend does not run, or not so: another one takes them
  double worst_error = 0;  ///< of floats, over the output's largest magnitude
  std::string reason;      ///< of the first that was wrong, failed or is elsewhere
};

struct TestedBackend {
  std::string backend;
  std::string failure;  ///< the backend cannot be used at all; empty: it can
  size_t memory_bytes = 0;
  uint64_t wrong_bytes = 0;
  uint64_t first_wrong = 0;
  double write_bytes_per_s = 0;
  double read_bytes_per_s = 0;
  std::vector<TestedOps> ops;
  /// Of the last op that ran there; empty where the backend counts nothing.
  std::vector<std::pair<std::string, uint64_t>> counters;

  /// True if all of the memory and every op was right.
  [[nodiscard]] bool passed() const {
    bool all = failure.empty() && wrong_bytes == 0;
    for (const TestedOps& kind : ops) all = all && kind.wrong == 0 && kind.failed == 0;
    return all;
  }
};

/// Tests the board that this program runs on, backend by backend. Throws nothing, as Convert.
[[nodiscard]] Outcome<std::vector<TestedBackend>> SelfTest(const SelfTestRequest& request);

}  // namespace api_v1
}  // namespace tenon
