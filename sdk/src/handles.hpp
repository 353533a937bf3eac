// What stands behind the opaque handles of tenon.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/config.hpp"
#ifdef TENON_FIRMWARE
#include "runtime/engine/one_worker_session.hpp"
#else
#include "runtime/engine/loaded_plan.hpp"
#include "runtime/engine/session.hpp"
#endif
#include "tenon/tenon.h"

namespace tenon::sdk {

#ifdef TENON_FIRMWARE
using Plan = OneWorkerPlan;
using Execution = OneWorkerSession;
#else
using Plan = LoadedPlan;
using Execution = Session;
#endif

/// What a handle in use begins with; its end clears it.
inline constexpr uint32_t kPlanMark = 0x4E4C5054;
inline constexpr uint32_t kSessionMark = 0x53534554;

}  // namespace tenon::sdk

struct tenon_plan {
  uint32_t mark = tenon::sdk::kPlanMark;
  uint32_t generation = 0;  // another one for each plan that the same memory holds
  uint32_t check_sum = 0;   // of the file's header, and so of all of it
  tenon::sdk::Plan loaded;
#ifndef TENON_FIRMWARE
  size_t program = 0;  // the one that is loaded
  // Set only by tenon_plan_open: what tenon_plan_close gives back.
  void* mapping = nullptr;
  size_t mapping_bytes = 0;
#endif
};

struct tenon_session {
  uint32_t mark = tenon::sdk::kSessionMark;
  uint32_t generation = 0;  // of its plan
  const tenon_plan* plan = nullptr;
  tenon::sdk::Execution session;
  tenon_cache_hooks caches = {};
#ifndef TENON_FIRMWARE
  // Set only by tenon_session_open: one block with state and arenas.
  void* allocation = nullptr;
  tenon_error notice = {};  // the last
  void (*report)(void* context, const char* notice) = nullptr;
  void* context = nullptr;
#endif
};

namespace tenon::sdk {

/// The program that tenon_plan_load makes ready.
inline constexpr size_t kFirstProgram = 0;

/// Fills `error` (may be null) and gives the code of the C interface.
#ifdef TENON_WITHOUT_WORDS
tenon_status Report(Status status, tenon_error* error);  // one word
#else
tenon_status Report(const Status& status, tenon_error* error);
#endif

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

// The engine takes arenas as the caller gives them.
static_assert(sizeof(tenon_memory) == sizeof(ArenaMemory) &&
              offsetof(tenon_memory, data) == offsetof(ArenaMemory, base) &&
              offsetof(tenon_memory, bytes) == offsetof(ArenaMemory, bytes));

/// The state memory of a handle: the handle itself, then what follows it.
inline constexpr size_t kStateAlignment = 16;
template <typename Handle>
inline constexpr size_t kHandleBytes =
    (sizeof(Handle) + kStateAlignment - 1) / kStateAlignment* kStateAlignment;

#ifndef TENON_FIRMWARE
/// Loads a program of an opened plan into `state`; tenon_plan_load and tenon_plan_open share it.
Status LoadInto(const PlanView& view, const tenon_backends& backends, int32_t threads,
                Span<uint8_t> state, Span<uint8_t> scratch, tenon_plan** plan,
                size_t program = kFirstProgram);
#endif

[[nodiscard]] size_t PlanStateBytes(const PlanView& view, size_t program = kFirstProgram);
[[nodiscard]] size_t PlanScratchBytes(const PlanView& view, size_t program = kFirstProgram);

/// Before a run: drops what caches hold of inputs that another bus master has written. Errors:
/// kFailedPrecondition (a port that caches cannot be kept in step for: nothing was done).
Status BeginSharing(const tenon_session& session);
/// After a run, whatever came of it: hands outputs, and the memory of inputs, to other bus masters.
void EndSharing(const tenon_session& session);

}  // namespace tenon::sdk
