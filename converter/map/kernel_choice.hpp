// Gives every op a backend and a kernel (docs/methods.md, M1, M2): the board's priority table
// decides among the backends that can run it, by the same predicates (caps) that the backends
// declare.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cpu/caps/cpu_caps.hpp"
#include "converter/ir/graph.hpp"
#include "converter/map/backends.hpp"
#include "converter/map/mark.hpp"
#include "converter/map/variants.hpp"
#include "converter/status.hpp"

namespace tenon::converter {

// Ops that the user has given to a backend by name: --map 'conv_3=cpu,layer4/*=opencl'.

struct Pin {
  std::string pattern;  ///< of op names: `*` any text, `?` one character
  std::string backend;
};

/// "PATTERN=BACKEND,..."; the last `=` of an entry separates. Errors (kUsage): an entry without
/// either.
[[nodiscard]] Result<std::vector<Pin>> ParsePins(std::string_view text);

/// True if the pattern is the op's name, or that of the op it is a part of.
[[nodiscard]] bool PinMatches(const Pin& pin, std::string_view op_name);

/// The last pin that matches; null if none does.
[[nodiscard]] const Pin* FindPin(const std::vector<Pin>& pins, std::string_view op_name);

struct Candidate {
  std::string backend;
  std::string kernel;             ///< empty: the backend has none for this kind of op
  int priority = 0;               ///< in the board's table; 0: not there
  std::string reason;             ///< why not; empty for the one chosen
  std::optional<double> ms = {};  ///< alone on its unit; none: not known
};

struct MappedOp {
  std::string op;
  std::string backend;
  std::string kernel;
  /// Of every backend of the board: the kernels refused, then the one that would run the op.
  std::vector<Candidate> candidates;
};

/// Of the limits: kernels that would scribble in more bytes, or hold more packed weights, per op
/// are left out in favour of later ones. None: no limit.
struct KernelChoiceOptions : MarkOptions {
  /// `MarkOptions::backends` empty: the built-in ones. Without a board: only the CPU of those.
  std::vector<Pin> pins;  ///< beat the table: all that counts is that the backend can run the op
  /// By OpId, from a search: beats the table, but not pins. Empty names: by the table.
  std::vector<std::string> assigned;
  /// Ops get kernels that work over an input, where there are such: they spare memory at the price
  /// of a workspace and some time. Where placement finds no use for one, it is better left out.
  bool in_place = false;
  std::vector<bool> not_in_place;  ///< by OpId: no such kernel for these
  /// Of the kernels chosen, where the board is given; null: none.
  const VariantChoice* variants = nullptr;
};

/// Sets `backend`, `kernel`, `caps` and `workspace_bytes` of every op, and the graph's backends:
/// pinned or assigned ones, else the best priority, ties by the board's order of units. Errors:
/// kInput, ops that no kernel runs, all of them at once with every kernel's reason; kUsage, a pin
/// that matches no op, or names a backend that is unknown or cannot run the op (says why).
[[nodiscard]] Result<std::vector<MappedOp>> ChooseKernels(Graph& graph,
                                                          const KernelChoiceOptions& options);

/// The backends that options without a list mean.
[[nodiscard]] std::vector<BackendCaps> BackendsOf(const KernelChoiceOptions& options);

/// Heap bytes that the kernels of all ops hold once the plan is loaded and one session is open, at
/// most; what several ops share counts once. Kernels have been chosen.
[[nodiscard]] int64_t PackedBytes(const Graph& graph);

// Whether an op, written otherwise, would still run as fast: passes that offer kernels another form
// of an op ask before they change it.

/// Why `after`, another form of the op `before` on the same graph, would run worse: on another
/// backend, by the portable kernel where it had a faster one, or nowhere. Empty if it would not.
[[nodiscard]] std::string WhyWorseKernel(const Graph& graph, const Op& before, const Op& after,
                                         const KernelChoiceOptions& options);

/// The kernel that the op would be given as things stand; null if none.
[[nodiscard]] const KernelCaps* KernelFor(const Graph& graph, const Op& op,
                                          const KernelChoiceOptions& options);

}  // namespace tenon::converter
