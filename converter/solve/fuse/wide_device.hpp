// A simulated unit with many lanes, of which small ops leave most idle, and on which every start
// costs. This code depends on neither graphs nor boards.
//
// For a set S of ops started at once: op i has E_i output elements, n_i = ceil(E_i / work group)
// groups, f_i floating-point operations and b_i bytes; a group runs on one lane, in
//   t_i = max(f_i / n_i / lane rate, b_i / n_i / lane bandwidth)
//   T(S) = start + max(max_i t_i, sum_i n_i t_i / lanes, sum_i b_i / bandwidth)
// Ops that share an input can be one op with the outputs of all, which reads the input once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converter/solve/fuse/group_model.hpp"

namespace tenon::converter {

struct WideDevice {
  double lanes = 80;
  double lane_flops = 100e9;  ///< per second
  double bandwidth = 500e9;   ///< bytes per second, all lanes together
  double lane_bandwidth = 10e9;
  double start_seconds = 4e-6;
  int64_t group_elements = 2048;
};

struct WideOp {
  int64_t elements = 0;  ///< of the outputs
  double flops = 0;
  double bytes = 0;  ///< inputs, weights and outputs, each once
  /// Ops of one number (not -1) can be merged: they apply the same window to the same input, of
  /// `shared_bytes`, and differ in their output channels.
  int32_t merge_class = -1;
  double shared_bytes = 0;
};

/// Returns the time of one start of these ops as they are.
[[nodiscard]] double WideTime(const WideDevice& device, const std::vector<WideOp>& ops);

/// Returns the ops as one; they are of one merge class.
[[nodiscard]] WideOp MergeWideOps(const std::vector<WideOp>& ops);

/// Every set fits. Of each set, those ops are merged whose merging makes it shortest.
class WideModel final : public GroupModel {
 public:
  /// `may_merge`: false leaves the ops as they are.
  WideModel(const WideDevice& device, std::vector<WideOp> ops, bool may_merge = true)
      : device_(device), ops_(std::move(ops)), may_merge_(may_merge) {}
  [[nodiscard]] double Time(const OpSet& ops) const override;
  [[nodiscard]] std::string WhyNot(const OpSet&) const override { return {}; }

 private:
  WideDevice device_;
  std::vector<WideOp> ops_;
  bool may_merge_;
};

}  // namespace tenon::converter
