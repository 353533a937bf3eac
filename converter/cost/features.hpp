// Computes the terms of a kernel's time: how much of each kind of work an op contains (register
// tiles, rows, bytes that do not fit a cache, ...). A profile's calibration says how long a unit of
// each takes on one machine; the sum is the op's predicted time.
//
// The terms mirror how the kernels of backends/cpu walk their operands; where a kernel changes, its
// terms must be reviewed, and a new profile is needed.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "converter/cost/profile_operands.hpp"

namespace tenon::converter {

/// Facts of the profiled machine on which kernels' times depend in addition to the op.
struct MachineFacts {
  std::string processor;
  int processors = 1;
  int vector_lanes = 16;  ///< f32 per register: 16 (AVX-512), 8 (AVX2), 4
  int64_t cache_bytes[3] = {32 << 10, 1 << 20, 32 << 20};  ///< per level, as one thread sees it
};

/// Returns the facts of the machine this runs on.
[[nodiscard]] MachineFacts ThisMachine();

struct CostTerm {
  std::string name;
  double amount;  ///< in the term's own unit, >= 0
};

/// Lists the terms of one op under one model; the first is "start", amount 1.
struct CostTerms {
  std::string model;  ///< ops of one model share their terms' names
  std::vector<CostTerm> terms;

  void Add(std::string name, double amount) { terms.push_back({std::move(name), amount}); }
};

/// Returns true for terms that are bytes which come from beyond a cache, or the stalls that they
/// cause.
[[nodiscard]] bool IsTraffic(std::string_view term);

/// Returns true for the kernels that KernelTerms knows.
[[nodiscard]] bool HasKernelTerms(const std::string& kernel);

/// Returns the terms of the kernel's own model: "cpu.conv.vector", or with a variant,
/// "cpu.unary.portable tanh". For kernels that have none, returns those of the op's kind.
[[nodiscard]] CostTerms KernelTerms(const ProfileOperands& operands, const MachineFacts& machine,
                                    int threads);

/// Returns the terms of the kind's coarse model, "conv": work and bytes, whatever the kernel.
[[nodiscard]] CostTerms KindTerms(const ProfileOperands& operands, const MachineFacts& machine);

/// Adapts the terms to a whole network, whose weights are read from whichever cache can contain all
/// of it between runs: replaces the term "weight_bytes" by stall cycles ("weight_l2_stalls", ...)
/// and bytes ("weight_l2_bytes", ...) of the shares that lie beyond each level of memory. Stalls
/// are the cycles by which loading takes longer than the products; cores that do not load far
/// enough ahead wait for the bytes, too.
[[nodiscard]] CostTerms InNetwork(const CostTerms& terms, double network_bytes,
                                  const MachineFacts& machine);

/// Adds up the bytes that a run of a network uses.
class NetworkBytes {
 public:
  /// Borrows the op's constants: each counts once, as the first kernel that reads it packs it.
  void Add(const ProfileOperands& operands);
  /// Returns all constants and the activations of the op that has most of them.
  [[nodiscard]] double Sum() const { return constants_ + activations_; }

 private:
  std::set<const void*> seen_;
  double constants_ = 0;
  double activations_ = 0;
};

/// Returns the bytes of its activations, which those of other ops may replace.
[[nodiscard]] double ActivationBytes(const ProfileOperands& operands);

}  // namespace tenon::converter
