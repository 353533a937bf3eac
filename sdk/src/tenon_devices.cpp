// The part of tenon.h for plans with several programs, devices and packed weights, and for names of
// numbers: not in firmware.
#include "runtime/engine/plan_memory.hpp"
#include "sdk/src/handles.hpp"
#include "tenon/debug.h"

using tenon::sdk::CheckOpen;
using tenon::sdk::IsLoaded;

namespace tenon::sdk {

Status Execution::Open(const Plan& plan, Span<uint8_t> state, const ArenaMemory* arenas) {
  Status status = Session::Open(plan, state, arenas);
  // Keeps the words of what went wrong, and hands them on.
  const auto note = [](void* execution, const Status& failure) {
    auto* self = static_cast<Execution*>(execution);
    (void)Report(failure, &self->notice);
    if (self->report != nullptr) self->report(self->context, self->notice.message);
  };
  if (status.ok()) SetNoticeSink({note, this});
  return status;
}

bool Execution::OverlapsArenas(const tenon_memory& given, size_t port) const {
  if (given.data == PlaceInArena(port)) return false;
  for (const ArenaMemory& arena : arenas()) {
    if (Overlap(given, {arena.base, arena.bytes})) return true;
  }
  return false;
}

bool Execution::OverlapsBound(const tenon_memory& given, size_t port) const {
  const ProgramView& program = plan().program();
  const size_t inputs = program.input_count();
  for (size_t other = 0; other < PortCount(program); ++other) {
    if (other == port || (port < inputs && other < inputs) || !IsBound(other)) continue;
    if (Overlap(given, {PortData(other), PortBytes(other)})) return true;
  }
  return false;
}

}  // namespace tenon::sdk

extern "C" {

const char* tenon_dtype_name(tenon_dtype dtype) {
  return tenon::IsValidDType(dtype) ? tenon::DTypeName(static_cast<tenon::DType>(dtype)) : "?";
}

size_t tenon_plan_program_count(const tenon_plan* plan) {
  return IsLoaded(plan) ? plan->loaded.view().program_count() : 0;
}

tenon_status tenon_plan_program(const tenon_plan* plan, size_t index, tenon_program_info* info) {
  if (info == nullptr || index >= tenon_plan_program_count(plan)) return TENON_INVALID_ARGUMENT;
  const tenon::ProgramView program = plan->loaded.view().program(index);
  *info = tenon_program_info{};
  info->name = program.name();
  info->is_pipeline = program.mode() == static_cast<uint8_t>(tenon::ProgramMode::kPipeline) ? 1 : 0;
  info->is_loaded = index == plan->loaded.program_index() ? 1 : 0;
  info->workers = program.worker_count();
  return TENON_OK;
}

const char* tenon_plan_notice(const tenon_plan* plan) {
  return IsLoaded(plan) ? plan->loaded.notice() : "";
}

size_t tenon_plan_packed_bytes(const tenon_plan* plan) {
  return IsLoaded(plan) ? plan->loaded.PackedBytes() : 0;
}

int32_t tenon_session_is_busy(tenon_session* session) {
  return CheckOpen(session).ok() && session->session.IsBusy() ? 1 : 0;
}

void tenon_session_set_timeout(tenon_session* session, uint64_t nanoseconds,
                               uint64_t (*monotonic_clock)(void)) {
  if (!CheckOpen(session).ok()) return;
  session->session.SetTimeout(monotonic_clock == nullptr ? 0 : nanoseconds, monotonic_clock);
}

void tenon_session_set_notice(tenon_session* session,
                              void (*report)(void* context, const char* notice), void* context) {
  if (!CheckOpen(session).ok()) return;
  session->session.report = report;
  session->session.context = context;
}

void tenon_session_show_tensors(tenon_session* session, int32_t shows) {
  if (CheckOpen(session).ok()) session->session.ShowTensors(shows != 0);
}

const char* tenon_session_notice(const tenon_session* session) {
  return CheckOpen(session).ok() ? session->session.notice.message : "";
}

size_t tenon_session_packed_bytes(const tenon_session* session) {
  return CheckOpen(session).ok() ? session->session.PackedBytes() : 0;
}

}  // extern "C"
