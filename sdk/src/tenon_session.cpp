// The sessions of tenon.h: no heap, no files, no threads.
#include <new>

#include "runtime/engine/plan_memory.hpp"
#include "sdk/src/handles.hpp"

namespace {

using tenon::kHasWords;
using tenon::OkStatus;
using tenon::Span;
using tenon::Status;
using tenon::StatusCode;
using tenon::sdk::CheckLoaded;
using tenon::sdk::CheckMemory;
using tenon::sdk::CheckOpen;
using tenon::sdk::IsAligned;
using tenon::sdk::IsLoaded;
using tenon::sdk::kHandleBytes;
using tenon::sdk::NullArgument;
using tenon::sdk::Overlap;
using tenon::sdk::Report;
using tenon::sdk::SoleUse;

/// An error if binding `bytes` at `data` is not possible.
Status CheckBinding(const tenon::sdk::Execution& execution, size_t port, const void* data,
                    size_t bytes) {
  if (data == nullptr) return OkStatus();
  const tenon::ProgramView& program = execution.plan().program();
  const tenon::PortInfo info = PortAt(program, port);
  const size_t needed = execution.PortBytes(port);
  if (bytes != needed) {
    return Status(StatusCode::kInvalidArgument, "'{s}' has {0} bytes, {1} were given",
                  static_cast<int64_t>(needed), static_cast<int64_t>(bytes))
        .About(kHasWords ? info.name : nullptr);
  }
  const int element_bytes = DTypeBytes(program.tensor(info.tensor).dtype);
  if (!IsAligned(data, static_cast<size_t>(element_bytes))) {
    return Status(StatusCode::kInvalidArgument, "memory for '{s}' must be aligned to {0} bytes",
                  element_bytes)
        .About(kHasWords ? info.name : nullptr);
  }
  return OkStatus();
}

/// That memory for a port is apart from what a run writes, or, for an output, uses. Firmware does
/// not ask.
[[maybe_unused]] Status CheckApart(const tenon::sdk::Execution& execution, size_t port,
                                   const tenon_memory& given) {
  if (given.data == nullptr) return OkStatus();
  const char* const name = kHasWords ? PortAt(execution.plan().program(), port).name : nullptr;
  if (execution.OverlapsArenas(given, port)) {
    return Status(StatusCode::kInvalidArgument, "memory for '{s}' overlaps an arena of the session")
        .About(name);
  }
  if (execution.OverlapsBound(given, port)) {
    return Status(StatusCode::kInvalidArgument,
                  "memory for '{s}' overlaps what another input or output is bound to")
        .About(name);
  }
  return OkStatus();
}

/// That the caller's memory, which sessions write, is not what the plan lies or keeps its state in.
bool OverlapsPlan(const tenon_plan* plan, const tenon_memory& given) {
  const Span<const uint8_t> file = plan->loaded.view().file();
  return Overlap(given, {const_cast<uint8_t*>(file.data()), file.size()}) ||
         Overlap(given, {const_cast<tenon_plan*>(plan), tenon_plan_state_bytes(plan)});
}

/// Where the session's input or output `index` stands among all ports; false if there is none.
bool FindPort(const tenon_session* session, bool is_input, size_t index, size_t* port) {
  const tenon::ProgramView& program = session->session.plan().program();
  const size_t inputs = program.input_count();
  *port = is_input ? index : inputs + index;
  return index < (is_input ? inputs : program.output_count());
}

void* DataOf(const tenon_session* session, bool is_input, size_t index) {
  size_t port = 0;
  const bool is_there = CheckOpen(session).ok() && FindPort(session, is_input, index, &port);
  return is_there ? session->session.PortData(port) : nullptr;
}

Status Bind(tenon_session* session, bool is_input, size_t index, void* data, size_t bytes) {
  TENON_RETURN_IF_ERROR(CheckOpen(session));
  size_t port = 0;
  TENON_ENSURE(FindPort(session, is_input, index, &port), kInvalidArgument,
               "there is no input or output {0}", static_cast<int64_t>(index));
  TENON_RETURN_IF_ERROR(CheckBinding(session->session, port, data, bytes));
  if (!is_input && data != nullptr) {
    const tenon_memory given = {data, bytes};
    TENON_ENSURE(!OverlapsPlan(session->plan, given) &&
                     !Overlap(given, {session, tenon_session_state_size(session->plan)}),
                 kInvalidArgument, "memory for an output overlaps the plan, or a state");
  }
  // A run writes to arenas: an input that lies there is lost before it has been read.
  if constexpr (tenon::kHasWorkers) {
    TENON_RETURN_IF_ERROR(CheckApart(session->session, port, {data, bytes}));
  }
  session->session.BindPort(port, data);
  return OkStatus();
}

/// That the caller's memory for arena `index` is there, aligned, large enough and of its own.
Status CheckArena(const tenon_plan* plan, size_t index, const tenon_memory& state,
                  const tenon_memory* arenas) {
  const tenon::ArenaInfo info = plan->loaded.program().arena(index);
  const tenon_memory& given = arenas[index];
  if (tenon::kHasInputRows && given.data == nullptr &&
      plan->loaded.program().arena_use(index) == tenon::ArenaUse::kRows) {
    return OkStatus();
  }
  const size_t needed = tenon::BytesOf(info);
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
  TENON_ENSURE(!OverlapsPlan(plan, given), kInvalidArgument,
               "arena {0} overlaps the plan or the plan's state", number);
  return OkStatus();
}

Status CheckArenas(const tenon_plan* plan, const tenon_memory& state, const tenon_memory* arenas,
                   size_t arena_count) {
  const size_t needed = plan->loaded.program().arena_count();
  if (arenas == nullptr && needed > 0) return NullArgument("arenas");
  TENON_ENSURE(arena_count == needed, kInvalidArgument, "{0} arenas given, the plan has {1}",
               static_cast<int64_t>(arena_count), static_cast<int64_t>(needed));
  for (size_t i = 0; i < needed; ++i) {
    TENON_RETURN_IF_ERROR(CheckArena(plan, i, state, arenas));
  }
  return OkStatus();
}

Status Open(const tenon_plan* plan, const tenon_memory& state, const tenon_memory* arenas,
            tenon_session** session) {
  constexpr size_t kHandle = kHandleBytes<tenon_session>;
  auto* memory = static_cast<uint8_t*>(state.data);
  auto* handle = new (memory) tenon_session();
  handle->plan = plan;
  handle->generation = plan->generation;
  const auto* memories = reinterpret_cast<const tenon::ArenaMemory*>(arenas);
  const Status status = handle->session.Open(
      plan->loaded, Span<uint8_t>(memory + kHandle, state.bytes - kHandle), memories);
  if (!status.ok()) {
    tenon_session_destroy(handle);  // nothing has been given to a device yet
    return status;
  }
  *session = handle;
  return OkStatus();
}

Status Run(tenon_session* session, const tenon::RunOptions& options) {
  TENON_RETURN_IF_ERROR(CheckOpen(session));
  TENON_RETURN_IF_ERROR(tenon::sdk::BeginSharing(*session));
  const Status status = session->session.Run(options);
  tenon::sdk::EndSharing(*session);
  return status;
}

}  // namespace

namespace tenon::sdk {

Status CheckOpen(const tenon_session* session) {
  if (session == nullptr) return NullArgument("session");
  TENON_ENSURE(IsAligned(session, kStateAlignment) && session->mark == kSessionMark,
               kFailedPrecondition, "the session is not open: create it first");
  TENON_ENSURE(IsLoaded(session->plan) && session->plan->generation == session->generation,
               kFailedPrecondition,
               "the plan was unloaded or loaded again: create a session again");
  return OkStatus();
}

}  // namespace tenon::sdk

extern "C" {

size_t tenon_session_state_size(const tenon_plan* plan) {
  if (!IsLoaded(plan)) return 0;
  return kHandleBytes<tenon_session> + tenon::sdk::Execution::StateBytes(plan->loaded);
}

tenon_status tenon_session_create(const tenon_plan* plan, void* state, size_t state_size,
                                  const tenon_memory* arenas, size_t arena_count,
                                  tenon_session** session, tenon_error* error) {
  if (session == nullptr) return Report(NullArgument("session"), error);
  *session = nullptr;
  Status status = CheckLoaded(plan);
  if (status.ok()) {
    status = CheckMemory(tenon::sdk::NameIfWords("state"), state, state_size,
                         tenon_session_state_size(plan));
  }
  const tenon_memory whole_state = {state, state_size};
  if (status.ok() && OverlapsPlan(plan, whole_state)) {
    status = Status(StatusCode::kInvalidArgument,
                    "a session's 'state' overlaps the plan or the plan's state");
  }
  if (status.ok()) status = CheckArenas(plan, whole_state, arenas, arena_count);
  if (status.ok()) status = Open(plan, whole_state, arenas, session);
  return Report(status, error);
}

void tenon_session_destroy(tenon_session* session) {
  if (session == nullptr || !IsAligned(session, tenon::sdk::kStateAlignment)) return;
  // What is left of a session whose plan is gone is for nobody to close.
  if (tenon::kHasDevices && CheckOpen(session).ok()) (void)session->session.Close();
  session->mark = 0;
}

void* tenon_session_input(tenon_session* session, size_t index) {
  return DataOf(session, /*is_input=*/true, index);
}

const void* tenon_session_output(const tenon_session* session, size_t index) {
  return DataOf(session, /*is_input=*/false, index);
}

tenon_status tenon_session_bind_input(tenon_session* session, size_t index, const void* data,
                                      size_t bytes, tenon_error* error) {
  const SoleUse use(session);
  if (!use.ok()) return Report(SoleUse::status(), error);
  // The plan check has proven that no op writes to an input's storage.
  return Report(Bind(session, /*is_input=*/true, index, const_cast<void*>(data), bytes), error);
}

tenon_status tenon_session_bind_output(tenon_session* session, size_t index, void* data,
                                       size_t bytes, tenon_error* error) {
  const SoleUse use(session);
  if (!use.ok()) return Report(SoleUse::status(), error);
  return Report(Bind(session, /*is_input=*/false, index, data, bytes), error);
}

tenon_status tenon_session_reset(tenon_session* session, tenon_error* error) {
  const SoleUse use(session);
  if (!use.ok()) return Report(SoleUse::status(), error);
  const Status status = CheckOpen(session);
  if (status.ok()) session->session.ResetStates();
  return Report(status, error);
}

tenon_status tenon_session_run(tenon_session* session, tenon_error* error) {
  const SoleUse use(session);
  if (!use.ok()) return Report(SoleUse::status(), error);
  return Report(Run(session, {}), error);
}

#ifndef TENON_WITHOUT_INPUT_ROWS
tenon_status tenon_session_run_rows(tenon_session* session, const tenon_row_source* source,
                                    tenon_error* error) {
  if (source == nullptr || source->next == nullptr) return Report(NullArgument("source"), error);
  const SoleUse use(session);
  if (!use.ok()) return Report(SoleUse::status(), error);
  tenon::RunOptions options;
  const tenon::RowSource rows = {source->next, source->context};
  options.rows = &rows;
  return Report(Run(session, options), error);
}
#endif

tenon_status tenon_session_run_traced(tenon_session* session, const tenon_trace* trace,
                                      tenon_error* error) {
  if (trace == nullptr || trace->record == nullptr || trace->clock_nanoseconds == nullptr) {
    return Report(NullArgument("trace"), error);
  }
  const SoleUse use(session);
  if (!use.ok()) return Report(SoleUse::status(), error);
  tenon::OpTimer timer;
  tenon::RunOptions options;
  options.timer = &timer;
  timer.record = trace->record;
  timer.context = trace->context;
  timer.clock_nanoseconds = trace->clock_nanoseconds;
  return Report(Run(session, options), error);
}

}  // extern "C"
