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
  kChannelsLastRows,     ///< the same, and so may those of rows: a tile lies inside an image
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
  /// Of quantized convolutions and matrix products: reads input 7, bias and x's zero point in one,
  /// and is faster where it is there, or where no zero point is.
  bool wants_folded_bias = false;
  /// Bytes of workspace that it runs in with one thread, more slowly than in `workspace_bytes`;
  /// what it is given between the two, it uses. Never more than `workspace_bytes`. Null: it needs
  /// those.
  size_t (*least_workspace_bytes)(const OpCall& call) = nullptr;
  /// Of use only where output 0 does take over an input: elsewhere other kernels do it better.
  bool in_place_only = false;
  /// Needs neither a library nor an instruction set: every processor runs it.
  bool portable = false;
  /// Pays only where the processor has no instruction for products of bytes, and is no faster than
  /// another elsewhere: boards whose rates say that theirs has one do without it.
  bool spares_byte_products = false;
  /// Neither allocates nor calls an operating system, and has a link name: firmware can run it.
  bool firmware = false;

 private:
  // In front of what calls it, since clang evaluates no constant with what it has not read yet.
  template <typename T>
  [[nodiscard]] constexpr KernelCaps With(T KernelCaps::*field, T value) const {
    KernelCaps caps = *this;
    caps.*field = value;
    return caps;
  }

 public:
  // For lists of kernels, which say only what is not as usual. Each gives the same with one fact
  // more:  Takes(ConvSupports, LayoutNeed::kRowMajor).Workspace(ConvBytes).Weights(kInputsLast)
  [[nodiscard]] constexpr KernelCaps Named(const char* name, OpKind op_kind) const {
    return With(&KernelCaps::id, name).With(&KernelCaps::kind, op_kind);
  }
  [[nodiscard]] constexpr KernelCaps Workspace(size_t (*bytes)(const OpCall&, int)) const {
    return With(&KernelCaps::workspace_bytes, bytes);
  }
  [[nodiscard]] constexpr KernelCaps LeastWorkspace(size_t (*bytes)(const OpCall&)) const {
    return With(&KernelCaps::least_workspace_bytes, bytes);
  }
  [[nodiscard]] constexpr KernelCaps Holds(size_t (*bytes)(const OpCall&)) const {
    return With(&KernelCaps::packed_bytes, bytes);
  }
  [[nodiscard]] constexpr KernelCaps SharedBy(void (*key)(const OpCall&, PackingKey*)) const {
    return With(&KernelCaps::packing_key, key);
  }
  [[nodiscard]] constexpr KernelCaps Weights(WeightsOrder order) const {
    return With(&KernelCaps::weights, order);
  }
  [[nodiscard]] constexpr KernelCaps Variants(int (*names)(const OpCall&, const char**,
                                                           int)) const {
    return With(&KernelCaps::variants, names);
  }
  [[nodiscard]] constexpr KernelCaps WantsFoldedBias() const {
    return With(&KernelCaps::wants_folded_bias, true);
  }
  [[nodiscard]] constexpr KernelCaps OnlyOverInput0() const {
    return With(&KernelCaps::in_place_inputs, uint32_t{1}).With(&KernelCaps::in_place_only, true);
  }
  [[nodiscard]] constexpr KernelCaps SparesByteProducts() const {
    return With(&KernelCaps::spares_byte_products, true);
  }
  [[nodiscard]] constexpr KernelCaps Firmware() const { return With(&KernelCaps::firmware, true); }
  [[nodiscard]] constexpr KernelCaps Portable() const {
    return Firmware().With(&KernelCaps::portable, true);
  }
};

/// Of a kernel that takes what `supports` says, its activations in this order.
[[nodiscard]] constexpr KernelCaps Takes(Reason (*supports)(const OpCall& call),
                                         LayoutNeed activations) {
  return {nullptr, OpKind::kConv, supports, activations, nullptr};
}

/// A row of a backend's list of kernels as KernelCaps: with what follows in the row, the functions
/// that the kernel is made of, only the backend's own table does anything. (Call it through a macro
/// that takes (...), so that the row's parts may be macros.)
#define TENON_KERNEL_CAPS(backend, op, Op, implementation, facts, ...) \
  (facts).Named(backend "." #op "." #implementation, OpKind::k##Op)

/// What the converter knows of a backend. Backends from outside the tree give one too.
struct BackendCaps {
  const char* name;  ///< "opencl": what boards, plans and Backend::name say
  /// In order of priority: the first of an op's kind that supports it is taken.
  Span<const KernelCaps> kernels;
  /// Further kernels, for the processors of boards that name this set ("helium"): tried first, and
  /// then the portable ones. Empty for names that it does not know. Null: no such sets.
  Span<const KernelCaps> (*kernels_of_set)(const char* set) = nullptr;
};

}  // namespace tenon
