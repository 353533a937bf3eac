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

// A pin is an op that the user has given to a backend by name: --map 'conv_3=cpu,layer4/*=opencl'.

struct Pin {
  std::string pattern;  ///< of op names: `*` any text, `?` one character
  std::string backend;
};

/// Parses "PATTERN=BACKEND,..."; the last `=` of an entry separates. Errors (kUsage): an entry
/// without a pattern or a backend.
[[nodiscard]] Result<std::vector<Pin>> ParsePins(std::string_view text);

/// Returns true if the pattern matches the op's name, or that of the op of which it is a part.
[[nodiscard]] bool PinMatches(const Pin& pin, std::string_view op_name);

/// Returns the last pin that matches; null if none does.
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
  /// Lists for every backend of the board the kernels refused, then the one that would run the op.
  std::vector<Candidate> candidates;
};

/// Of the limits in MarkOptions: kernels that would use more workspace, or more bytes of packed
/// weights, per op are passed over in favour of later ones. None: no limit.
struct KernelChoiceOptions : MarkOptions {
  /// If `MarkOptions::backends` is empty, the built-in ones; without a board, only the CPU of
  /// those.
  std::vector<Pin> pins;  ///< override the table: the backend only has to be able to run the op
  /// Backends by OpId, from a search: override the table, but not pins. Empty names: by the table.
  std::vector<std::string> assigned;
  /// Names of units by OpId, of those of the assigned backends that shall run the ops; shorter or
  /// empty: the first unit of the backend that runs the op.
  std::vector<std::string> assigned_unit;
  /// Ops get kernels that work over an input, where they exist: they save memory but need a
  /// workspace and some time. Where placement gains nothing from one, it is better not used.
  bool in_place = false;
  std::vector<bool> not_in_place;  ///< by OpId: no such kernel for these
  /// Chooses variants of the kernels, if there is a board; null: none.
  const VariantChoice* variants = nullptr;
};

/// Sets `backend`, `kernel`, `caps` and `workspace_bytes` of every op, and the graph's backends:
/// pinned or assigned ones, else the best priority, ties by the board's order of units. Errors:
/// kInput, ops that no kernel runs, all of them at once with every kernel's reason; kUsage, a pin
/// that matches no op, or names a backend that is unknown or cannot run the op (the message says
/// why).
[[nodiscard]] Result<std::vector<MappedOp>> ChooseKernels(Graph& graph,
                                                          const KernelChoiceOptions& options);

/// Returns the backends that are used if the options list none.
[[nodiscard]] std::vector<BackendCaps> BackendsOf(const KernelChoiceOptions& options);

/// Returns the most heap bytes that the kernels of all ops use once the plan is loaded and one
/// session is open; what several ops share counts once. Kernels must have been chosen.
[[nodiscard]] int64_t PackedBytes(const Graph& graph);

// The following say whether an op in another form would still run as fast: passes that offer
// kernels another form of an op call them before they change it.

/// Returns why `after`, another form of the op `before` on the same graph, would run worse: on
/// another backend, by the portable kernel where it had a faster one, or nowhere. Empty if it would
/// not.
[[nodiscard]] std::string WhyWorseKernel(const Graph& graph, const Op& before, const Op& after,
                                         const KernelChoiceOptions& options);

/// Returns the kernel that the op would be given at present; null if none.
[[nodiscard]] const KernelCaps* KernelFor(const Graph& graph, const Op& op,
                                          const KernelChoiceOptions& options);

/// Returns the backend that the op would be given at present; empty if none runs it.
[[nodiscard]] std::string BackendFor(const Graph& graph, const Op& op,
                                     const KernelChoiceOptions& options);

}  // namespace tenon::converter
