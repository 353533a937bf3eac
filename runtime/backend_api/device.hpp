// The seam to devices that work beside the host: what a backend gives whose kernels only *enqueue*
// work. Backends whose kernels do the work on the calling thread (CPU) give none.
//
// How the engine drives a device, for every segment of it:
//   start, upload per tensor that others wrote, KernelEntry::run per op (which enqueues),
//   signal per tensor that others will read, submit.
// and, at the place where another worker first needs such a tensor: wait. Nothing else waits: a
// device runs ahead of the host as far as the plan's explicit waits allow.
// A segment that has code (plan.fbs) is enqueued by one call of run_code instead of one per op.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/span.hpp"
#include "runtime/base/status.hpp"
#include "runtime/base/tensor_view.hpp"
#include "runtime/ops/op_kind.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon {

/// One arena of a session, all ring slots of it.
struct ArenaMemory {
  void* base = nullptr;
  size_t bytes = 0;
};

/// A tensor that host and device both use. `planned` is where the plan puts it, inside an arena:
/// the address that kernels are given. `actual` is where the host has it: the same, or memory of
/// the caller's that is bound to an input or output.
struct SharedTensor {
  const TensorView* planned = nullptr;
  void* actual = nullptr;
};

/// What a base register of a segment's code leads to: `bytes`, `from_base` behind where it leads.
/// Of those with one register the first has `from_base` 0, and all lie in one arena or section.
struct CodeWindow {
  /// Constants: where they lie in the plan's file. Null: in an arena; each run says where.
  const void* constants = nullptr;
  size_t bytes = 0;
  uint64_t from_base = 0;
  uint8_t base_register = 0;
  bool writes = false;
};

/// What an accelerator runs a whole segment by, and what it was made for (plan.fbs, SegmentCode).
struct SegmentCode {
  Span<const uint8_t> bytes;
  Span<const CodeWindow> windows;
  const char* accelerator = "";
  uint32_t version = 0;
  Span<const uint32_t> parameters;
  Span<const uint32_t> image;  ///< uuid, 4 words; empty: any
};

/// An arena that a session wants of a device.
struct ArenaWish {
  size_t bytes = 0;
  size_t alignment = 1;
  uint8_t base_register = 0;  ///< by which code reaches it
};

/// One op of a group. Its constant operands have data.
struct GroupOp {
  OpKind kind = OpKind::kCopy;
  const char* kernel = "";  ///< as the plan names it, with its variant
  OpCall call;
};

/// A group of ops as a plan has it (plan.fbs, Group). All borrowed. The source is whatever the plan
/// holds: a device runs it only if it makes the same of the ops.
struct GroupCode {
  const char* source = "";
  Span<const uint32_t> arguments;  ///< by launch: how many parameters of the kernel it sets
  size_t op_count = 0;
  const void* context = nullptr;
  GroupOp (*op)(const void* context, size_t index) = nullptr;
};

/// Something that a device counts, by the name that its maker gives it.
struct DeviceCounter {
  const char* name = "";
  uint64_t value = 0;
};

/// A moment on the monotonic clock, in nanoseconds; kNoDeadline: never.
using Deadline = uint64_t;
inline constexpr Deadline kNoDeadline = UINT64_MAX;

/// Functions of one kind of device. All but `open` and `close` may be called on any thread, but on
/// one queue by one thread at a time (`wait` and `drain` too). A call that fails leaves the queue
/// in a state in which only `drain` and `close_queue` are allowed, until `drain` has succeeded.
struct DeviceApi {
  /// Finds and prepares the device, once per loaded plan. `threads`: for devices that are made of
  /// host cores, the most that may be used. Errors: kUnsupported (there is none: says what was
  /// looked for), kBackendFailure.
  Status (*open)(int threads, void** device);
  void (*close)(void* device);

  /// An in-order queue with the memory that a session gives it: `arenas` by index as in the
  /// program, borrowed until close_queue. A session opens one queue per worker of the device.
  Status (*open_queue)(void* device, Span<const ArenaMemory> arenas, void** queue);
  void (*close_queue)(void* queue);  ///< drains first

  /// Begins a segment.
  Status (*start)(void* queue);
  /// The host has written `tensor`; kernels enqueued from here on see that. What is not in an arena
  /// is read before the call returns.
  Status (*upload)(void* queue, const SharedTensor& tensor);
  /// Once everything enqueued so far is done, `wait` makes `tensor` visible to the host, at
  /// `actual`; nobody writes to its planned place before. With `tensor.planned` null: nothing but
  /// the moment counts. `event`: for `wait`.
  Status (*signal)(void* queue, const SharedTensor& tensor, void** event);
  /// The segment is complete: the device works on it from now on, at the latest. Does not wait.
  Status (*submit)(void* queue);

  /// Waits for a signal and frees it (in every case). Nothing but this call writes to an `actual`
  /// that is not in an arena: it is the caller's memory, who has it back when a run is over, even
  /// if the device goes on. Errors: kBackendFailure (what went wrong on the device),
  /// kDeadlineExceeded.
  Status (*wait)(void* queue, void* event, Deadline deadline);
  /// Waits until nothing is enqueued any more. Same errors; after kDeadlineExceeded no `wait` for a
  /// signal that was made before writes to any `actual`.
  Status (*drain)(void* queue, Deadline deadline);

  /// Returns the bytes that a queue holds besides the session's arenas (copies of arenas on devices
  /// with memory of their own), for memory reports. May be null.
  size_t (*held_bytes)(const void* queue);

  // Devices that run segments by code; null for all others.

  /// Once per loaded plan and segment, before queues are opened. `code` is borrowed for the call,
  /// the bytes that it points to as long as the device is open. Errors: kUnsupported (the device is
  /// not what the code was made for: says what differs), kCorruptPlan, kBackendFailure.
  Status (*load_code)(void* device, const SegmentCode& code, void** loaded) = nullptr;
  void (*unload_code)(void* device, void* loaded) = nullptr;
  /// Enqueues the segment. `bases`: by window, its address in the queue's arenas (null: constants).
  Status (*run_code)(void* queue, void* loaded, Span<void* const> bases) = nullptr;

  /// Memory of the device which the host has at `base`, at a multiple of the alignment, until it is
  /// taken back. A queue that is opened with it as an arena has no copy of that arena. Any error:
  /// the arena is the host's. Null, both: the device lends nothing.
  Status (*lend_arena)(void* device, const ArenaWish& wish, void** base) = nullptr;
  void (*take_back_arena)(void* device, void* base) = nullptr;

  /// What the device counted in the work that it ended last, for people. Writes as many as there is
  /// room for, and returns how many there are. May be null.
  size_t (*counters)(void* device, Span<DeviceCounter> counters) = nullptr;

  // Devices that start ops of a group by one generated kernel (plan.fbs, Group); null for all
  // others.

  /// Once per loaded plan and group. Errors: kUnsupported (the source is not what this device makes
  /// of the ops), kBackendFailure (the device refuses the source).
  Status (*load_group)(void* device, const GroupCode& group, void** loaded) = nullptr;
  void (*unload_group)(void* device, void* loaded) = nullptr;
  /// Makes the queue ready for the group: nothing is allocated by its runs. Once per queue and
  /// group.
  Status (*open_group)(void* queue, void* loaded) = nullptr;
  /// What KernelEntry::run enqueues between these two is started at once by the second.
  Status (*begin_group)(void* queue, void* loaded) = nullptr;
  Status (*end_group)(void* queue) = nullptr;
};

}  // namespace tenon
