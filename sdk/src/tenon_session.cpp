// The sessions of tenon.h: no heap, no files, no threads.
#include <new>

#include "sdk/src/handles.hpp"

namespace {

using tenon::OkStatus;
using tenon::Span;
using tenon::Status;
using tenon::StatusCode;
using tenon::sdk::CheckMemory;
using tenon::sdk::FillPort;
using tenon::sdk::IsAligned;
using tenon::sdk::kHandleBytes;
using tenon::sdk::NullArgument;
using tenon::sdk::Report;

/// The port's bytes, or an error if binding `bytes` at `data` is not possible.
Status CheckBinding(const tenon::ProgramView& program, const tenon::PortInfo& port,
                    const void* data, size_t bytes) {
  tenon_port_info info;
  (void)FillPort(program, port, &info);
  if (data == nullptr) return OkStatus();
  if (bytes != info.bytes) {
    return Status(StatusCode::kInvalidArgument, "'{s}' has {0} bytes, {1} were given",
                  static_cast<int64_t>(info.bytes), static_cast<int64_t>(bytes))
        .About(port.name);
  }
  const size_t element_bytes = tenon_dtype_bytes(info.dtype);
  if (element_bytes != 0 && !IsAligned(data, element_bytes)) {
    return Status(StatusCode::kInvalidArgument, "memory for '{s}' must be aligned to {0} bytes",
                  static_cast<int64_t>(element_bytes))
        .About(port.name);
  }
  return OkStatus();
}

/// No overflow: both end within the address space, or the caller has no such memory.
bool Overlap(const tenon_memory& a, const tenon_memory& b) {
  const auto first = reinterpret_cast<uintptr_t>(a.data);
  const auto second = reinterpret_cast<uintptr_t>(b.data);
  return a.bytes != 0 && b.bytes != 0 &&
         (first < second ? second - first < a.bytes : first - second < b.bytes);
}

/// That the caller's memory for arena `index` is there, aligned, large enough and of its own.
Status CheckArena(const tenon::ProgramView& program, size_t index, const tenon_memory& state,
                  const tenon_memory* arenas) {
  const tenon::ArenaInfo info = program.arena(index);
  const tenon_memory& given = arenas[index];
  const auto needed = static_cast<size_t>(tenon::ArenaBytes(info));
  const auto number = static_cast<int64_t>(index);
  TENON_ENSURE(given.data != nullptr || needed == 0, kInvalidArgument,
               "arena {0} is null: give {1} bytes", number, static_cast<int64_t>(needed));
  TENON_ENSURE(IsAligned(given.data, info.alignment), kInvalidArgument,
               "arena {0} is misaligned: it must start at a multiple of {1}", number,
               info.alignment);
  TENON_ENSURE(given.bytes >= needed, kOutOfMemory, "arena {0} has {1} bytes, {2} are needed",
               number, static_cast<int64_t>(given.bytes), static_cast<int64_t>(needed));
  bool overlaps = Overlap(given, state);
  for (size_t i = 0; i < index; ++i) overlaps |= Overlap(given, arenas[i]);
  TENON_ENSURE(!overlaps, kInvalidArgument,
               "arena {0} overlaps the session's state or another arena", number);
  return OkStatus();
}

/// Keeps the words of what went wrong, and hands them on.
void Note(void* context, const Status& failure) {
  auto* session = static_cast<tenon_session*>(context);
  (void)Report(failure, &session->notice);
  if (session->report != nullptr) session->report(session->context, session->notice.message);
}

}  // namespace

extern "C" {

size_t tenon_session_state_size(const tenon_plan* plan) {
  if (plan == nullptr) return 0;
  return kHandleBytes<tenon_session> + tenon::Session::StateBytes(plan->loaded);
}

tenon_status tenon_session_create(const tenon_plan* plan, void* state, size_t state_size,
                                  const tenon_memory* arenas, size_t arena_count,
                                  tenon_session** session, tenon_error* error) {
  if (plan == nullptr) return Report(NullArgument("plan"), error);
  if (session == nullptr) return Report(NullArgument("session"), error);
  *session = nullptr;
  const size_t needed_arenas = tenon_plan_arena_count(plan);
  if (arenas == nullptr && needed_arenas > 0) return Report(NullArgument("arenas"), error);
  if (arena_count != needed_arenas) {
    return Report(Status(StatusCode::kInvalidArgument, "{0} arenas given, the plan has {1}",
                         static_cast<int64_t>(arena_count), static_cast<int64_t>(needed_arenas)),
                  error);
  }
  Status status = CheckMemory("state", state, state_size, tenon_session_state_size(plan));
  const tenon_memory whole_state = {state, state_size};
  for (size_t i = 0; status.ok() && i < arena_count; ++i) {
    status = CheckArena(plan->loaded.program(), i, whole_state, arenas);
  }
  if (!status.ok()) return Report(status, error);
  constexpr size_t kHandle = kHandleBytes<tenon_session>;
  auto* handle = new (state) tenon_session();
  status = handle->session.Open(
      plan->loaded, Span<uint8_t>(static_cast<uint8_t*>(state) + kHandle, state_size - kHandle),
      reinterpret_cast<const tenon::ArenaMemory*>(arenas));
  if (!status.ok()) {
    (void)handle->session.Close();  // nothing has been given to a device yet
    return Report(status, error);
  }
  tenon::NoticeSink sink;
  sink.report = Note;
  sink.context = handle;
  handle->session.SetNoticeSink(sink);
  *session = handle;
  return Report(status, error);
}

void tenon_session_destroy(tenon_session* session) {
  if (session != nullptr) (void)session->session.Close();
}

int32_t tenon_session_is_busy(tenon_session* session) {
  return session != nullptr && session->session.IsBusy() ? 1 : 0;
}

void* tenon_session_input(tenon_session* session, size_t index) {
  if (session == nullptr || index >= session->session.plan().program().input_count()) {
    return nullptr;
  }
  return session->session.InputData(index);
}

const void* tenon_session_output(const tenon_session* session, size_t index) {
  if (session == nullptr || index >= session->session.plan().program().output_count()) {
    return nullptr;
  }
  return session->session.OutputData(index);
}

tenon_status tenon_session_bind_input(tenon_session* session, size_t index, const void* data,
                                      size_t bytes, tenon_error* error) {
  if (session == nullptr) return Report(NullArgument("session"), error);
  const tenon::ProgramView& program = session->session.plan().program();
  if (index >= program.input_count()) {
    return Report(Status(StatusCode::kInvalidArgument, "input {0} of {1}",
                         static_cast<int64_t>(index), static_cast<int64_t>(program.input_count())),
                  error);
  }
  const Status status = CheckBinding(program, program.input(index), data, bytes);
  // The plan check has proven that no op writes to an input's storage.
  if (status.ok()) session->session.BindInput(index, const_cast<void*>(data));
  return Report(status, error);
}

tenon_status tenon_session_bind_output(tenon_session* session, size_t index, void* data,
                                       size_t bytes, tenon_error* error) {
  if (session == nullptr) return Report(NullArgument("session"), error);
  const tenon::ProgramView& program = session->session.plan().program();
  if (index >= program.output_count()) {
    return Report(Status(StatusCode::kInvalidArgument, "output {0} of {1}",
                         static_cast<int64_t>(index), static_cast<int64_t>(program.output_count())),
                  error);
  }
  const Status status = CheckBinding(program, program.output(index), data, bytes);
  if (status.ok()) session->session.BindOutput(index, data);
  return Report(status, error);
}

tenon_status tenon_session_run(tenon_session* session, tenon_error* error) {
  if (session == nullptr) return Report(NullArgument("session"), error);
  return Report(session->session.Run(), error);
}

tenon_status tenon_session_run_traced(tenon_session* session, const tenon_trace* trace,
                                      tenon_error* error) {
  if (session == nullptr) return Report(NullArgument("session"), error);
  if (trace == nullptr || trace->record == nullptr || trace->clock_nanoseconds == nullptr) {
    return Report(NullArgument("trace"), error);
  }
  tenon::OpTimer timer;
  tenon::RunOptions options;
  options.timer = &timer;
  timer.record = trace->record;
  timer.context = trace->context;
  timer.clock_nanoseconds = trace->clock_nanoseconds;
  return Report(session->session.Run(options), error);
}

void tenon_session_set_timeout(tenon_session* session, uint64_t nanoseconds,
                               uint64_t (*monotonic_clock)(void)) {
  if (session == nullptr) return;
  session->session.SetTimeout(monotonic_clock == nullptr ? 0 : nanoseconds, monotonic_clock);
}

void tenon_session_set_notice(tenon_session* session,
                              void (*report)(void* context, const char* notice), void* context) {
  if (session == nullptr) return;
  session->report = report;
  session->context = context;
}

const char* tenon_session_notice(const tenon_session* session) {
  return session == nullptr ? "" : session->notice.message;
}

size_t tenon_session_packed_bytes(const tenon_session* session) {
  return session == nullptr ? 0 : session->session.PackedBytes();
}

}  // extern "C"
