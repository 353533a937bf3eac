// Counts what a microcontroller's kernel does in one call: how often each of its loops goes round.
// How many instructions a round takes, a table says (instruction_bound.hpp); control flow does not
// depend on data, so that both together are what a run takes.
//
// The counts mirror how the kernels of backends/cpu/kernels/cortex_m walk their operands. Where a
// kernel changes, its counts must be reviewed, and tests/bench/fit_instructions.py run again.
#pragma once

#include <cstddef>
#include <optional>

#include "converter/cost/features.hpp"
#include "converter/cost/profile_operands.hpp"

namespace tenon::converter {

struct KernelCallFacts {
  size_t workspace_bytes = 0;
  bool has_aligned_words = false;  ///< input 0 and output 0 begin at multiples of 4 bytes
};

/// Returns the counts under the kernel's model; none of kernels that are not known, or in a way
/// that is not.
[[nodiscard]] std::optional<CostTerms> InstructionTerms(const ProfileOperands& operands,
                                                        const KernelCallFacts& facts);

namespace instructions {

struct Context {
  const ProfileOperands& operands;
  const KernelCallFacts& facts;
  CostTerms& terms;

  [[nodiscard]] const OpCall& call() const { return operands.call(); }
  void Add(const char* name, int64_t amount) const {
    if (amount != 0) terms.Add(name, static_cast<double>(amount));
  }
};

// Each returns false for a way that it does not know.
bool HeliumConv(const Context& context);
bool HeliumDepthwise(const Context& context);
bool HeliumMatMul(const Context& context);
bool HeliumBinary(const Context& context);
bool DspConv(const Context& context);
bool DspDepthwise(const Context& context);
bool DspFirst(const Context& context);
bool DspFives(const Context& context);
bool DspDepthwiseRow(const Context& context);
bool DspWinograd(const Context& context);
bool DspMatMul(const Context& context);
bool DspBinary(const Context& context);
bool Pool(const Context& context);
bool Copy(const Context& context);
bool Elements(const Context& context);
bool Softmax(const Context& context);

/// Returns true for fixed point whose bytes may have any value.
[[nodiscard]] bool IsWhole(const QuantizedOutput& output);
/// Returns true if all shifts of a quantized GEMM are to the right.
[[nodiscard]] bool AreToTheRight(const OpCall& call);
/// Adds the sums of weights that make a zero point part of the bias, unless the plan has them.
void AddBiasSums(const Context& context, int64_t outputs, int64_t depth);

}  // namespace instructions
}  // namespace tenon::converter
