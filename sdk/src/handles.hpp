// What stands behind the opaque handles of tenon.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>

#include "runtime/base/config.hpp"
#ifdef TENON_FIRMWARE  // here alone: all else is written for both
#include "sdk/src/firmware_engine.hpp"
#else
#include "sdk/src/host_engine.hpp"
#endif
#include "tenon/tenon.h"

namespace tenon::sdk {

/// What a handle in use begins with; its end clears it.
inline constexpr uint32_t kPlanMark = 0x4E4C5054;
inline constexpr uint32_t kSessionMark = 0x53534554;

}  // namespace tenon::sdk

struct tenon_plan {
  uint32_t mark = tenon::sdk::kPlanMark;
  uint32_t generation = 0;  // another one for each plan that the same memory holds
  uint32_t check_sum = 0;   // of the file's header, and so of all of it
  tenon::sdk::Plan loaded;
};

struct tenon_session {
  uint32_t mark = tenon::sdk::kSessionMark;
  uint32_t generation = 0;  // of its plan
  const tenon_plan* plan = nullptr;
  tenon::sdk::Execution session;
  tenon_cache_hooks caches = {};
};

namespace tenon::sdk {

/// The program that tenon_plan_load makes ready.
inline constexpr size_t kFirstProgram = 0;

/// Without words a status is one word, which goes in a register.
using StatusArgument = std::conditional_t<kHasWords, const Status&, Status>;
/// Fills `error` (may be null) and gives the code of the C interface.
tenon_status Report(StatusArgument status, tenon_error* error);

/// Without words nobody reads the name: it is not to be linked.
[[nodiscard, gnu::always_inline]] inline Status NullArgument(const char* name) {
  return Status(StatusCode::kInvalidArgument, "argument '{s}' is NULL").About(name);
}
[[nodiscard]] bool IsAligned(const void* pointer, size_t alignment);
/// That the caller's memory is there, aligned and large enough. The name is for NameIfWords.
Status CheckMemory(const char* name, const void* memory, size_t given, size_t needed);
[[nodiscard, gnu::always_inline]] constexpr const char* NameIfWords(const char* name) {
  return kHasWords ? name : nullptr;
}
/// True if two blocks have a byte in common.
[[nodiscard]] bool Overlap(const tenon_memory& a, const tenon_memory& b);
void FillPort(const ProgramView& program, const PortInfo& port, tenon_port_info* info);

/// True if the handle is that of a plan that is loaded: null, or memory that holds no plan (any
/// more), is not. The memory itself must be there.
[[nodiscard]] bool IsLoaded(const tenon_plan* plan);
/// The same as a status.
Status CheckLoaded(const tenon_plan* plan);
/// That the session is open and its plan still the one that it was made for.
Status CheckOpen(const tenon_session* session);

/// Keeps other threads out of a session that is open: two at once would mix up what both compute.
/// It costs one atomic operation; firmware, which has one thread, has none of it.
class SoleUse {
 public:
  explicit SoleUse(tenon_session* session) {
    if constexpr (kHasWorkers) {
      if (!CheckOpen(session).ok()) return;  // what is called next says so
      is_free_ = session->session.Begin();
      if (is_free_) session_ = session;
    }
  }
  SoleUse(const SoleUse&) = delete;
  SoleUse& operator=(const SoleUse&) = delete;
  ~SoleUse() {
    if constexpr (kHasWorkers) {
      if (session_ != nullptr) session_->session.End();
    }
  }
  [[nodiscard]] bool ok() const { return !kHasWorkers || is_free_; }
  [[nodiscard]] static Status status() {
    return Status(StatusCode::kFailedPrecondition,
                  "the session is in use: give each thread a session of its own");
  }

 private:
  tenon_session* session_ = nullptr;
  bool is_free_ = true;
};

// The engine takes arenas as the caller gives them.
static_assert(sizeof(tenon_memory) == sizeof(ArenaMemory) &&
              offsetof(tenon_memory, data) == offsetof(ArenaMemory, base) &&
              offsetof(tenon_memory, bytes) == offsetof(ArenaMemory, bytes));

/// The state memory of a handle: the handle itself, then what follows it.
inline constexpr size_t kStateAlignment = 16;
template <typename Handle>
inline constexpr size_t kHandleBytes =
    (sizeof(Handle) + kStateAlignment - 1) / kStateAlignment* kStateAlignment;

/// Loads a program of an opened plan into `state`; tenon_plan_load and tenon_plan_open share it.
/// Inlined: where it has one caller, as in firmware, a function of its own would take more flash.
[[gnu::always_inline]] inline Status LoadInto(const PlanView& view, const tenon_backends& backends,
                                              int32_t threads, Span<uint8_t> state,
                                              Span<uint8_t> scratch, tenon_plan** plan,
                                              size_t program) {
  constexpr size_t kHandle = kHandleBytes<tenon_plan>;
  if (backends.list == nullptr && backends.count > 0) return NullArgument("backends.list");
  auto* handle = reinterpret_cast<tenon_plan*>(state.data());
  // Whatever the memory holds: sessions of the plan that was there before must see a change.
  uint32_t generation = 0;
  std::memcpy(&generation, &handle->generation, sizeof generation);
  handle = new (handle) tenon_plan();
  handle->generation = generation + 1;
  handle->check_sum = view.header().crc32c;
  const Span<const Backend* const> list(reinterpret_cast<const Backend* const*>(backends.list),
                                        backends.count);
  const Span<uint8_t> rest(state.data() + kHandle, state.size() - kHandle);
  const Status status = handle->loaded.Load(view, program, list, threads, rest, scratch);
  if (!status.ok()) {
    tenon_plan_unload(handle);
    return status;
  }
  *plan = handle;
  return status;
}

[[nodiscard]] size_t PlanStateBytes(const PlanView& view, size_t program = kFirstProgram);

/// Before a run: drops what caches hold of inputs that another bus master has written. Errors:
/// kFailedPrecondition (a port that caches cannot be kept in step for: nothing was done).
Status BeginSharing(const tenon_session& session);
/// After a run, whatever came of it: hands outputs, and the memory of inputs, to other bus masters.
void EndSharing(const tenon_session& session);

}  // namespace tenon::sdk
