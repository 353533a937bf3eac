// What stands behind the opaque handles of tenon.h.
#pragma once

#include <cstddef>

#include "runtime/engine/loaded_plan.hpp"
#include "runtime/engine/session.hpp"
#include "tenon/tenon.h"

struct tenon_plan {
  tenon::LoadedPlan loaded;
  size_t program = 0;  // the one that is loaded
  // Set only by tenon_plan_open: what tenon_plan_close gives back.
  void* mapping = nullptr;
  size_t mapping_bytes = 0;
};

struct tenon_session {
  tenon::Session session;
  // Set only by tenon_session_open: one block with state and arenas.
  void* allocation = nullptr;
  tenon_error notice = {};  // the last
  void (*report)(void* context, const char* notice) = nullptr;
  void* context = nullptr;
};

namespace tenon::sdk {

/// The program that tenon_plan_load makes ready.
inline constexpr size_t kFirstProgram = 0;

/// Fills `error` (may be null) and gives the code of the C interface.
tenon_status Report(const Status& status, tenon_error* error);

Status NullArgument(const char* name);
[[nodiscard]] bool IsAligned(const void* pointer, size_t alignment);
/// That the caller's memory is there, aligned and large enough.
Status CheckMemory(const char* name, const void* memory, size_t given, size_t needed);
tenon_status FillPort(const ProgramView& program, const PortInfo& port, tenon_port_info* info);

/// The state memory of a handle: the handle itself, then what follows it.
// The engine takes arenas as the caller gives them.
static_assert(sizeof(tenon_memory) == sizeof(ArenaMemory) &&
              offsetof(tenon_memory, data) == offsetof(ArenaMemory, base) &&
              offsetof(tenon_memory, bytes) == offsetof(ArenaMemory, bytes));

inline constexpr size_t kStateAlignment = 16;
template <typename Handle>
inline constexpr size_t kHandleBytes =
    (sizeof(Handle) + kStateAlignment - 1) / kStateAlignment* kStateAlignment;

/// Loads a program of an opened plan into `state`; tenon_plan_load and tenon_plan_open share it.
Status LoadInto(const PlanView& view, const tenon_backends& backends, int32_t threads,
                Span<uint8_t> state, Span<uint8_t> scratch, tenon_plan** plan,
                size_t program = kFirstProgram);

[[nodiscard]] size_t PlanStateBytes(const PlanView& view, size_t program = kFirstProgram);
[[nodiscard]] size_t PlanScratchBytes(const PlanView& view, size_t program = kFirstProgram);

}  // namespace tenon::sdk
