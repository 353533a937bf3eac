// What the handles of tenon.h hold on hosts: the engine of several workers and devices, and what
// functions that firmware lacks keep with it.
#pragma once

#include <atomic>

#include "runtime/engine/loaded_plan.hpp"
#include "runtime/engine/session.hpp"
#include "tenon/tenon.h"

namespace tenon {
class LentArenas;
}  // namespace tenon

namespace tenon::sdk {

struct Plan : LoadedPlan {
  // Set only by tenon_plan_open: what tenon_plan_close gives back.
  void* mapping = nullptr;
  size_t mapping_bytes = 0;
};

struct Execution : Session {
  /// False if another thread (or a call further up on this one) uses the session. Else End must
  /// follow.
  [[nodiscard]] bool Begin() { return !is_used.test_and_set(std::memory_order_acquire); }
  void End() { is_used.clear(std::memory_order_release); }
  /// True if memory for `port` shares a byte with an arena, unless it is the port's place there.
  [[nodiscard]] bool OverlapsArenas(const tenon_memory& given, size_t port) const;
  /// True if it shares one with memory bound to another port, of which a run writes one or both.
  [[nodiscard]] bool OverlapsBound(const tenon_memory& given, size_t port) const;

  /// As that of Session; its notices go to `notice` and `report` from then on.
  Status Open(const Plan& plan, Span<uint8_t> state, const ArenaMemory* arenas);

  // Set only by tenon_session_open: one block with state and arenas, and what devices lend.
  void* allocation = nullptr;
  LentArenas* lent = nullptr;
  std::atomic_flag is_used = ATOMIC_FLAG_INIT;
  tenon_error notice = {};  // the last
  void (*report)(void* context, const char* notice) = nullptr;
  void* context = nullptr;
};

}  // namespace tenon::sdk
