// Gives every op a backend and a kernel, by the same predicates (caps) that the backend declares.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/cpu/caps/cpu_caps.hpp"
#include "converter/ir/graph.hpp"

namespace tenon::converter {

struct Candidate {
  std::string kernel;
  std::string reason;  ///< why not; empty for the one chosen and those after it
};

struct MappedOp {
  std::string op;
  std::string backend;
  std::vector<Candidate> candidates;
};

struct KernelChoiceOptions {
  bool portable_only = false;  ///< leave out kernels that need a library or an instruction set
  int threads = 1;             ///< the most that a run will use: decides workspace bounds
  /// Kernels that would scribble in more bytes, or hold more packed weights, per op are left out
  /// in favour of later ones. None: no limit.
  std::optional<int64_t> workspace_limit = {};
  std::optional<int64_t> packed_limit = {};
};

/// Sets `backend`, `kernel` and `workspace_bytes` of every op. Errors (kInput): ops that no
/// kernel runs, all of them at once with every kernel's reason.
[[nodiscard]] Result<std::vector<MappedOp>> ChooseKernels(Graph& graph,
                                                          const KernelChoiceOptions& options);

/// Gives `op` the portable kernel of its kind, which runs any operands that the op's rule allows:
/// for ops that later passes insert (copies).
void UsePortableKernel(Op& op);

/// Heap bytes that the kernels of all ops hold once the plan is loaded and one session is open, at
/// most; what several ops share counts once. Kernels have been chosen.
[[nodiscard]] int64_t PackedBytes(const Graph& graph);

/// The caps of the kernel that ChooseKernels gave to `op`.
[[nodiscard]] const cpu::KernelCaps& CapsOf(const Op& op);

}  // namespace tenon::converter
