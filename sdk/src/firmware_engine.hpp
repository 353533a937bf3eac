// What the handles of tenon.h hold in firmware: the engine of one worker, which loads a plan's
// first program, called as that of hosts is (host_engine.hpp). All of it is inlined: it takes no
// flash.
#pragma once

#include "runtime/engine/one_worker_session.hpp"
#include "runtime/format/plan_check.hpp"
#include "tenon/tenon.h"

namespace tenon::sdk {

struct Plan : OneWorkerPlan {
  [[nodiscard]] static size_t StateBytes(const PlanView& plan, size_t /*program*/) {
    return OneWorkerPlan::StateBytes(plan);
  }
  [[nodiscard]] static size_t ScratchBytes(const PlanView& plan, size_t /*program*/) {
    return PlanCheckScratchBytes(plan);
  }
  /// Spans by reference: the compiler would copy them once more.
  Status Load(const PlanView& plan, size_t /*program*/, const Span<const Backend* const>& backends,
              int threads, const Span<uint8_t>& state, const Span<uint8_t>& scratch) {
    return OneWorkerPlan::Load(plan, backends, threads, state.data(), scratch);
  }
  void Unload() {}
  [[nodiscard]] static size_t program_index() { return 0; }
};

struct Execution : OneWorkerSession {
  Status Open(const Plan& plan, Span<uint8_t> state, const ArenaMemory* arenas) {
    OneWorkerSession::Open(plan, state.data(), arenas);
    return OkStatus();
  }
  static bool Close() { return true; }
  // Firmware runs on one thread, and its limits of flash leave no room for what only others need.
  static bool Begin() { return true; }
  static void End() {}
  static bool OverlapsArenas(const tenon_memory& /*given*/, size_t /*port*/) { return false; }
  static bool OverlapsBound(const tenon_memory& /*given*/, size_t /*port*/) { return false; }
};

}  // namespace tenon::sdk
