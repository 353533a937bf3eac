// What a kernel's time is made of: how much of each kind of work an op gives it (register tiles,
// rows, bytes that do not fit a cache, ...). A profile's calibration says how long a unit of each
// takes on one machine; the sum is the op's predicted time.
//
// The terms mirror how the kernels of backends/cpu walk their operands; where a kernel changes,
// its terms want a look, and a new profile.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "converter/cost/profile_operands.hpp"

namespace tenon::converter {

/// What kernels' times depend on beside the op: facts of the machine that a profile was made on.
struct MachineFacts {
  std::string processor;
  int processors = 1;
  int vector_lanes = 16;  ///< f32 per register: 16 (AVX-512), 8 (AVX2), 4
  int64_t cache_bytes[3] = {32 << 10, 1 << 20, 32 << 20};  ///< per level, as one thread sees it
};

/// Of the machine this runs on.
[[nodiscard]] MachineFacts ThisMachine();

struct CostTerm {
  std::string name;
  double amount;  ///< in the term's own unit, >= 0
};

/// The terms of one op under one model; the first is "start", amount 1.
struct CostTerms {
  std::string model;  ///< ops of one model share their terms' names
  std::vector<CostTerm> terms;

  void Add(std::string name, double amount) { terms.push_back({std::move(name), amount}); }
};

/// True for the kernels that KernelTerms knows.
[[nodiscard]] bool HasKernelTerms(const std::string& kernel);

/// The kernel's own model: "cpu.conv.vector", or with a variant, "cpu.unary.portable tanh". For
/// kernels that have none, that of the op's kind.
[[nodiscard]] CostTerms KernelTerms(const ProfileOperands& operands, const MachineFacts& machine,
                                    int threads);

/// The coarse model of the op's kind, "conv": work and bytes, whatever the kernel.
[[nodiscard]] CostTerms KindTerms(const ProfileOperands& operands, const MachineFacts& machine);

/// Weights come from whichever cache holds the whole network from one run to the next: replaces the
/// term "weight_bytes" by the cycles that the shares of it that lie beyond each level of memory
/// take longer to come than the products take ("weight_l2_stalls", ...).
[[nodiscard]] CostTerms InNetwork(const CostTerms& terms, double network_bytes,
                                  const MachineFacts& machine);

/// Bytes that one op adds to a run of its network: constants as its kernel packs them.
[[nodiscard]] double ConstantBytes(const ProfileOperands& operands);
/// And those of its activations, which other ops' may replace.
[[nodiscard]] double ActivationBytes(const ProfileOperands& operands);

}  // namespace tenon::converter
