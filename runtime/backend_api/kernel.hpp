// Defines kernels, which are named ways to execute one op, and how they are called.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/backend_api/parallel.hpp"
#include "runtime/base/span.hpp"
#include "runtime/base/status.hpp"
#include "runtime/ops/op_row.hpp"
#include "runtime/ops/packing_key.hpp"

namespace tenon {

/// Every workspace starts at a multiple of this many bytes.
inline constexpr int kWorkspaceAlignment = 16;

/// One execution. `op` operands have data; `workspace` is at least what the plan states.
struct KernelCall {
  OpCall op;
  void* workspace = nullptr;
  size_t workspace_bytes = 0;
  void* state = nullptr;  ///< what `open` made, or null
  const ParallelRunner* parallel = nullptr;
  void* queue = nullptr;  ///< of the backend's device (see device.hpp), or null
};

/// What `load` and `open` are told. Constant inputs have data, all others have null.
struct KernelSetup {
  OpCall op;
  size_t workspace_bytes = 0;
  int threads = 1;         ///< the most threads a run will use
  void* device = nullptr;  ///< of the backend (see device.hpp), or null
  void* queue = nullptr;   ///< in `open`: the one that runs will use, or null
  /// One that KernelCaps::variants names: how to run the op, told to `load` and `open`. Null: as
  /// the kernel sees fit, and the same where it does not know the variant: plans made by another
  /// build still run.
  const char* variant = nullptr;
  /// The input whose memory output 0 takes over exactly (as the plan says: operands without data
  /// have no addresses to compare), or -1.
  int in_place = -1;
};

/// A kernel of one op. Entries are constants in a backend's table; the table's order is priority,
/// best first, portable reference last. Ids read `backend.op.implementation`.
///
/// Life of an op: `check` (always; no heap), `load` once per loaded plan (may be null; where
/// weights are packed; several ops may share what it made, see `packing_key`), `open` once per
/// session (may be null), `run` many times, `close`, `unload`. After `open` nothing allocates.
/// `load` and `open` may use the heap; kernels meant for firmware have neither. Threads: different
/// sessions may run at once on what one `load` made; one session never runs twice at once.
/// On a backend with a device `run` only enqueues; operands' data are addresses in the session's
/// arenas, which may differ from run to run (ring slots).
struct KernelEntry {
  const char* id;
  const OpRow* row;

  /// Refuses what this kernel cannot run (dtypes, strides, layouts, too small a workspace), given
  /// operands that passed CheckOpCall. After it, `run` may trust everything but data.
  Status (*check)(const KernelSetup& setup);
  Status (*load)(const KernelSetup& setup, void** shared);
  Status (*open)(const KernelSetup& setup, void* shared, void** state);
  Status (*run)(const KernelCall& call);
  void (*close)(void* state);
  void (*unload)(void* shared);
  /// Heap bytes that `load` (shared) and `open` (state) hold, for memory reports. May be null.
  size_t (*held_bytes)(const void* shared, const void* state);
  /// Adds what the result of `load` depends on (constants by their address). Ops of one loaded plan
  /// whose keys and variants are equal and whose kernels have the same `load` share that result,
  /// and sessions may run them at once. Null: nothing is shared.
  void (*packing_key)(const OpCall& call, PackingKey* key) = nullptr;
  /// Inputs (bit mask) whose memory output 0 may take over exactly though elements are read after
  /// their neighbours' outputs were written: the kernel keeps those in its workspace. Adds to the
  /// row's `in_place_inputs`.
  uint32_t in_place_inputs = 0;
};

/// What an op is called: its kind, and the kernel that runs it.
struct OpNames {
  const char* kind = nullptr;
  const char* kernel = nullptr;
};

/// A check's answer for the reason that a predicate of KernelCaps::supports gave, null meaning
/// none.
[[nodiscard]] inline Status CheckResult(Reason reason) {
  return reason ? Status(StatusCode::kUnsupported, reason) : OkStatus();
}

/// The check of a kernel that runs whatever the predicate says.
template <Reason (*supports)(const OpCall& call)>
Status CheckBy(const KernelSetup& setup) {
  return CheckResult(supports(setup.op));
}

/// The kernels of a backend, in order of priority: a table of entries, or the addresses of single
/// ones, of which a linker then keeps no more than those that are named.
class KernelList {
 public:
  constexpr KernelList() = default;
  constexpr KernelList(const KernelEntry* entries, size_t count)
      : entries_(entries), size_(count) {}
  constexpr KernelList(const KernelEntry* const* addresses, size_t count)
      : addresses_(addresses), size_(count) {}
  constexpr KernelList(Span<const KernelEntry> entries)  // NOLINT: implicit on purpose
      : entries_(entries.data()), size_(entries.size()) {}

  [[nodiscard]] constexpr size_t size() const { return size_; }
  [[nodiscard]] constexpr const KernelEntry& operator[](size_t index) const {
    return entries_ != nullptr ? entries_[index] : *addresses_[index];
  }

  class Iterator {
   public:
    constexpr Iterator(const KernelList* list, size_t index) : list_(list), index_(index) {}
    constexpr const KernelEntry& operator*() const { return (*list_)[index_]; }
    constexpr Iterator& operator++() {
      ++index_;
      return *this;
    }
    constexpr bool operator!=(const Iterator& other) const { return index_ != other.index_; }

   private:
    const KernelList* list_;
    size_t index_;
  };
  [[nodiscard]] constexpr Iterator begin() const { return {this, 0}; }
  [[nodiscard]] constexpr Iterator end() const { return {this, size_}; }

 private:
  const KernelEntry* entries_ = nullptr;
  const KernelEntry* const* addresses_ = nullptr;
  size_t size_ = 0;
};

}  // namespace tenon
