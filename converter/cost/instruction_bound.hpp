// Bounds the instructions that a plan for a microcontroller takes per run, from above: what its
// kernels do (instruction_terms.hpp) times what each of that takes at most, by a table. The tables
// were fitted to counts of the emulated boards cortex-m55 (kernels named helium) and cortex-m7
// (dsp), so that none of some hundred different ops takes more than its bound; they hold for the
// library as this project's presets build it. Instructions are not cycles.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "converter/cost/features.hpp"
#include "converter/ir/locations.hpp"
#include "runtime/format/plan_view.hpp"

namespace tenon::converter {

struct InstructionBound {
  struct Op {
    std::optional<CostTerms> terms;  ///< none: the kernel is not known, or does not run the op
    std::optional<int64_t> most;     ///< none: the table does not have all terms
  };
  std::vector<Op> ops;
  std::optional<int64_t> most;       ///< of a whole run; none where an op has none
  std::vector<std::string> unknown;  ///< kernels of ops without a bound, each once
};

/// Returns none for plans without kernels for Cortex-M cores.
[[nodiscard]] std::optional<InstructionBound> BoundInstructions(const PlanView& plan,
                                                                const ProgramView& program);

/// Returns the same of a plan file's first program; none if it cannot be opened.
[[nodiscard]] std::optional<InstructionBound> BoundInstructions(const std::vector<uint8_t>& plan);

/// Returns what an op of a graph takes at most, whose kernel and workspace are chosen and whose
/// tensors are at `locations`; none of kernels and ways that have no bound. `kernel_set`: as of
/// Unit. Places in an arena are not known yet: storages count as aligned.
[[nodiscard]] std::optional<int64_t> BoundInstructions(const Graph& graph, const Op& op,
                                                       const Locations& locations,
                                                       const std::string& kernel_set);

/// Returns the bound as words: "at most 3200000", or why there is none.
[[nodiscard]] std::string Describe(const InstructionBound& bound);

}  // namespace tenon::converter
