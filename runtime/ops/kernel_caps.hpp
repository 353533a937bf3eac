// What a backend's kernels can run, as pure data and predicates: the converter chooses kernels by
// these, without linking the kernels or the device they need.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/span.hpp"
#include "runtime/ops/op_row.hpp"
#include "runtime/ops/packing_key.hpp"

namespace tenon {

/// Physical order that a kernel wants an operand in.
enum class LayoutNeed : uint8_t {
  kAny,                  ///< any strides
  kDense,                ///< no gaps; row-major or channels-last, all rank 4 operands alike
  kRowMajor,             ///< row-major without gaps
  kChannelsLast,         ///< channels-last without gaps
  kChannelsLastStrided,  ///< channels innermost with stride 1; outer strides may leave gaps
};

/// Order in which a kernel reads constant weights (input 1) without packing them.
enum class WeightsOrder : uint8_t {
  kRowMajor,
  kOutputsLast,  ///< output channels innermost, then input channels, then taps
  kInputsLast,   ///< what is summed innermost: input channels, then taps, then output channels
};

struct KernelCaps {
  const char* id;  ///< the KernelEntry's id: "cpu.conv.portable"
  OpKind kind;
  /// Null if the kernel runs this op, else why not (a constant text: "group > 1 needs ..."). Reads
  /// dims, dtypes and attributes, not strides; constant inputs have data, all others null.
  Reason (*supports)(const OpCall& call);
  LayoutNeed activations;  ///< of every operand that is neither weight nor bias
  /// Bytes of workspace with at most `threads` threads. Null: none.
  size_t (*workspace_bytes)(const OpCall& call, int threads);
  /// Heap bytes that the kernel holds for this op once it is loaded and opened, with weights in the
  /// order that `weights` names: never less than KernelEntry::held_bytes then says. Null: none.
  size_t (*packed_bytes)(const OpCall& call) = nullptr;
  /// Ops whose kernels have the same `packed_bytes` and give equal keys hold them together: the
  /// KernelEntry's packing_key. Null: each holds its own.
  void (*packing_key)(const OpCall& call, PackingKey* key) = nullptr;
  WeightsOrder weights = WeightsOrder::kRowMajor;
  /// Writes the names of the variants that the op may be run with (KernelSetup::variant), at most
  /// `most`, each a constant text without spaces or colons; gives their number. What a device runs
  /// an op with unless told need not be the first, and may be among them. Null: no variants.
  int (*variants)(const OpCall& call, const char** names, int most) = nullptr;
  /// As KernelEntry's: inputs whose memory output 0 may take over beside those that the op's row
  /// names.
  uint32_t in_place_inputs = 0;
  /// Of quantized convolutions and products: reads input 7, bias and x's zero point in one, and is
  /// faster where it is there, or where no zero point is.
  bool wants_folded_bias = false;
  /// Bytes of workspace that it runs in with one thread, more slowly than in `workspace_bytes`;
  /// what it is given between the two, it uses. Never more than `workspace_bytes`. Null: it needs
  /// those.
  size_t (*least_workspace_bytes)(const OpCall& call) = nullptr;
};

/// What the converter knows of a backend. Backends from outside the tree give one too.
struct BackendCaps {
  const char* name;  ///< "opencl": what boards, plans and Backend::name say
  /// In order of priority: the first of an op's kind that supports it is taken.
  Span<const KernelCaps> kernels;
  /// True if the kernel needs neither a library nor an instruction set. Null: none is.
  bool (*is_portable)(const KernelCaps& caps) = nullptr;
  /// Further kernels, for the processors of boards that name this set ("helium"): tried first, and
  /// then the portable ones. Empty for names that it does not know. Null: no such sets.
  Span<const KernelCaps> (*kernels_of_set)(const char* set) = nullptr;
};

}  // namespace tenon
