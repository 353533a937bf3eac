// Marks each op with every backend that can run it (docs/methods.md, M2).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "converter/board/board.hpp"
#include "converter/cost/cost_model.hpp"
#include "converter/map/backends.hpp"

namespace tenon::converter {

/// An op that a backend turned out not to run, though its kernels' predicates let it through: what
/// its neighbours are decides too, where a segment is compiled as a whole.
struct RefusedOp {
  std::string op;
  std::string backend;
  std::string reason;
};

/// Contains what marking needs to know besides the graph.
struct MarkOptions {
  /// Gives the units and priority table; null: every backend given has priority 1.
  const Board* board = nullptr;
  std::vector<BackendCaps> backends;  ///< whose kernels may be used
  const CostModel* costs = nullptr;   ///< null: no times
  bool portable_only = false;  ///< on the CPU, without what needs a library or an instruction set
  /// Kernels for this instruction set of the board's processor, before the others; empty: none.
  std::string kernel_set;
  int threads = 1;  ///< the most that a run will use: decides workspace bounds
  std::optional<int64_t> workspace_limit = {};  ///< see KernelChoiceOptions
  std::optional<int64_t> packed_limit = {};
  std::vector<RefusedOp> refused = {};  ///< marked as such
  bool least_workspace =
      false;  ///< the least workspace kernels can run in, not their preferred one
};

/// Describes one backend of the board for one op.
struct Mark {
  std::string backend;
  int priority = 0;                      ///< 0: the table does not give it the op
  const KernelCaps* kernel = nullptr;    ///< the one that would run it; null: none can
  int64_t workspace_bytes = 0;           ///< of that kernel
  std::optional<Picoseconds> time = {};  ///< of that kernel, where the cost model knows
  std::string reason;                    ///< why the backend cannot have the op; empty if it can
  /// Kernels tried before that one, with the reason for refusing each.
  std::vector<std::pair<std::string, std::string>> refused;

  [[nodiscard]] bool CanRun() const { return kernel != nullptr; }
  [[nodiscard]] bool IsListed() const { return CanRun() && priority > 0; }
};

/// Returns one mark per backend, in the order of the board's units (without one: of the backends).
[[nodiscard]] std::vector<Mark> MarkOp(const Graph& graph, const Op& op,
                                       const MarkOptions& options);

/// Names a kernel that runs an op over an input where the op's row alone would not allow it.
struct InPlaceKernel {
  const KernelCaps* kernel = nullptr;  ///< null: there is none
  int64_t workspace_bytes = 0;
};

/// Finds the best in-place kernel of the op's backend (the CPU's, if kernels are not chosen yet).
/// Its output must be as large as an input that nothing else reads, and its additional memory must
/// be less than that input plus the workspace of the kernel that the op would have otherwise.
[[nodiscard]] InPlaceKernel FindInPlaceKernel(const Graph& graph, const Op& op,
                                              const MarkOptions& options);

}  // namespace tenon::converter
