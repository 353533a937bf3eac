// What the handles of tenon.h hold on hosts: the engine of several workers and devices, and what
// functions that firmware lacks keep with it.
#pragma once

#include "runtime/engine/loaded_plan.hpp"
#include "runtime/engine/session.hpp"
#include "tenon/tenon.h"

namespace tenon::sdk {

struct Plan : LoadedPlan {
  // Set only by tenon_plan_open: what tenon_plan_close gives back.
  void* mapping = nullptr;
  size_t mapping_bytes = 0;
};

struct Execution : Session {
  /// As that of Session; its notices go to `notice` and `report` from then on.
  Status Open(const Plan& plan, Span<uint8_t> state, const ArenaMemory* arenas);

  // Set only by tenon_session_open: one block with state and arenas.
  void* allocation = nullptr;
  tenon_error notice = {};  // the last
  void (*report)(void* context, const char* notice) = nullptr;
  void* context = nullptr;
};

}  // namespace tenon::sdk
