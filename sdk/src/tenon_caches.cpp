// Inputs and outputs that a DMA or another processor reads or writes past this one's caches.
#include "runtime/engine/plan_memory.hpp"
#include "sdk/src/handles.hpp"

namespace {

using tenon::kHasWords;
using tenon::OkStatus;
using tenon::Status;
using tenon::StatusCode;
using tenon::sdk::IsAligned;

constexpr size_t kMostPorts = 32;  // bits of a mask

enum class Action : uint8_t { kCheck, kInvalidate, kClean };

/// Does one thing to all marked ports; invalidates inputs only. All of them, or up to an error.
Status ForEachMarked(const tenon_session& session, Action action) {
  const tenon_cache_hooks& caches = session.caches;
  const tenon::ProgramView& program = session.session.plan().program();
  const size_t inputs = program.input_count();
  const size_t ports = action == Action::kInvalidate ? inputs : PortCount(program);
  for (size_t i = 0; i < ports; ++i) {
    const size_t bit = i < inputs ? i : i - inputs;
    const uint32_t mask = i < inputs ? caches.inputs : caches.outputs;
    if (bit >= kMostPorts || (mask >> bit & 1U) == 0) continue;
    void* data = session.session.PortData(i);
    const size_t bytes = session.session.PortBytes(i);
    if (tenon::kHasInputRows && data == nullptr) continue;  // it comes by rows
    if (action != Action::kCheck) {
      (action == Action::kClean ? caches.clean : caches.invalidate)(caches.context, data, bytes);
      continue;
    }
    // Whole lines of the cache must be the port's own.
    const size_t filled = session.session.IsBound(i) ? 0 : bytes;
    if (!IsAligned(data, caches.line_bytes) || filled % caches.line_bytes != 0) {
      return Status(
                 StatusCode::kFailedPrecondition,
                 "'{s}' shares cache lines of {0} bytes with others: bind it at a multiple of that",
                 static_cast<int64_t>(caches.line_bytes))
          .About(kHasWords ? PortAt(program, i).name : nullptr);
    }
  }
  return OkStatus();
}

}  // namespace

namespace tenon::sdk {

Status BeginSharing(const tenon_session& session) {
  if (session.caches.line_bytes == 0) return OkStatus();
  TENON_RETURN_IF_ERROR(ForEachMarked(session, Action::kCheck));
  return ForEachMarked(session, Action::kInvalidate);
}

void EndSharing(const tenon_session& session) {
  // A run may have used an input's memory for other tensors: lines of them, written back later,
  // would spoil the next input.
  if (session.caches.line_bytes != 0) (void)ForEachMarked(session, Action::kClean);
}

}  // namespace tenon::sdk

extern "C" tenon_status tenon_session_set_cache_hooks(tenon_session* session,
                                                      const tenon_cache_hooks* hooks,
                                                      tenon_error* error) {
  const tenon::sdk::SoleUse use(session);
  if (!use.ok()) return tenon::sdk::Report(tenon::sdk::SoleUse::status(), error);
  Status status = tenon::sdk::CheckOpen(session);
  if (status.ok() && hooks != nullptr) {
    const size_t line = hooks->line_bytes;
    if (hooks->clean == nullptr || hooks->invalidate == nullptr || line == 0 ||
        (line & (line - 1)) != 0) {
      status = Status(StatusCode::kInvalidArgument,
                      "cache hooks need both functions and lines of a power of 2 bytes");
    }
  }
  if (status.ok()) session->caches = hooks != nullptr ? *hooks : tenon_cache_hooks{};
  return tenon::sdk::Report(status, error);
}
