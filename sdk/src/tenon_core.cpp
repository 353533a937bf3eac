// The part of tenon.h that firmware has: no heap, no files, no threads.
#include "runtime/engine/plan_memory.hpp"
#include "runtime/format/plan_check.hpp"
#include "runtime/format/plan_view.hpp"
#include "runtime/ops/kernel_name.hpp"
#include "sdk/src/handles.hpp"

namespace {

using tenon::OkStatus;
using tenon::PlanView;
using tenon::Result;
using tenon::Span;
using tenon::Status;
using tenon::StatusCode;
using tenon::sdk::CheckMemory;
using tenon::sdk::FillPort;
using tenon::sdk::IsLoaded;
using tenon::sdk::kFirstProgram;
using tenon::sdk::NameIfWords;
using tenon::sdk::NullArgument;
using tenon::sdk::Overlap;
using tenon::sdk::Plan;
using tenon::sdk::Report;

// Compilers for firmware make enumerations as short as they can be: a port's dtype must not depend
// on that.
static_assert(sizeof(tenon_dtype) == sizeof(int));

Span<const uint8_t> FileSpan(const void* bytes, size_t size) {
  return {static_cast<const uint8_t*>(bytes), size};
}

/// A plan file that holds a program.
Result<PlanView> OpenPlan(const void* bytes, size_t size, bool skip_section_crc) {
  const Result<PlanView> view = PlanView::Open(FileSpan(bytes, size), skip_section_crc);
  if (view.ok() && view->program_count() == 0) {
    return Status(StatusCode::kCorruptPlan, "the plan holds no program");
  }
  return view;
}

/// Port number `index` of `count` that begin at `first`; there are none without a plan.
tenon_status DescribePort(const tenon_plan* plan, tenon_port_info* info, size_t first, size_t index,
                          size_t count) {
  if (info == nullptr || index >= count) return TENON_INVALID_ARGUMENT;
  const tenon::ProgramView& program = plan->loaded.program();
  FillPort(program, PortAt(program, first + index), info);
  return TENON_OK;
}

}  // namespace

namespace tenon::sdk {

bool IsAligned(const void* pointer, size_t alignment) {
  return reinterpret_cast<uintptr_t>(pointer) % alignment == 0;
}

/// No overflow: both end within the address space, or the caller has no such memory.
bool Overlap(const tenon_memory& a, const tenon_memory& b) {
  const auto first = reinterpret_cast<uintptr_t>(a.data);
  const auto second = reinterpret_cast<uintptr_t>(b.data);
  return a.bytes != 0 && b.bytes != 0 &&
         (first < second ? second - first < a.bytes : first - second < b.bytes);
}

bool IsLoaded(const tenon_plan* plan) {
  return plan != nullptr && IsAligned(plan, kStateAlignment) && plan->mark == kPlanMark;
}

Status CheckLoaded(const tenon_plan* plan) {
  if (plan == nullptr) return NullArgument("plan");
  TENON_ENSURE(IsLoaded(plan), kFailedPrecondition, "the plan is not loaded: load it first");
  return OkStatus();
}

Status CheckMemory(const char* name, const void* memory, size_t given, size_t needed) {
  if (memory == nullptr) return NullArgument(name);
  if (!IsAligned(memory, kStateAlignment)) {
    return Status(StatusCode::kInvalidArgument, "'{s}' must be aligned to {0} bytes",
                  kStateAlignment)
        .About(name);
  }
  if (given < needed) {
    return Status(StatusCode::kOutOfMemory, "'{s}' has {0} bytes, {1} are needed",
                  static_cast<int64_t>(given), static_cast<int64_t>(needed))
        .About(name);
  }
  return OkStatus();
}

void FillPort(const ProgramView& program, const PortInfo& port, tenon_port_info* info) {
  const TensorInfo tensor = program.tensor(port.tensor);
  *info = tenon_port_info{};
  info->name = port.name;
  info->dtype = static_cast<tenon_dtype>(tensor.dtype);
  info->rank = static_cast<int32_t>(tensor.dims.size());
  size_t elements = 1;
  for (size_t i = 0; i < tensor.dims.size(); ++i) {
    info->dims[i] = tensor.dims[i];
    elements *= static_cast<size_t>(tensor.dims[i]);
  }
  info->bytes = elements * static_cast<size_t>(DTypeBytes(tensor.dtype));
  info->scale = port.scale;
  info->zero_point = port.zero_point;
}

tenon_status Report(StatusArgument status, tenon_error* error) {
  if (error != nullptr) {
    if (status.ok()) {
      error->message[0] = '\0';
    } else {
      status.Format(Span<char>(error->message, sizeof error->message));
    }
  }
  return static_cast<tenon_status>(status.code());
}

size_t PlanStateBytes(const PlanView& view, size_t program) {
  return kHandleBytes<tenon_plan> + Plan::StateBytes(view, program);
}

}  // namespace tenon::sdk

extern "C" {

const char* tenon_status_text(tenon_status status) {
  const auto number = static_cast<unsigned>(status);
  if (number > TENON_IO_ERROR) return "unknown status";
  return tenon::StatusCodeText(static_cast<StatusCode>(status));
}

size_t tenon_dtype_bytes(tenon_dtype dtype) {
  return tenon::IsValidDType(dtype)
             ? static_cast<size_t>(tenon::DTypeBytes(static_cast<tenon::DType>(dtype)))
             : 0;
}

tenon_status tenon_plan_scratch_size(const void* bytes, size_t size, size_t* scratch_size,
                                     tenon_error* error) {
  if (scratch_size == nullptr) return Report(NullArgument("scratch_size"), error);
  const Result<PlanView> view = PlanView::Open(FileSpan(bytes, size), /*skip_section_crc=*/true);
  if (!view.ok()) return Report(view.status(), error);
  *scratch_size = Plan::ScratchBytes(*view, kFirstProgram);
  return Report(OkStatus(), error);
}

tenon_status tenon_plan_check(const void* bytes, size_t size, void* scratch, size_t scratch_size,
                              void (*report)(void* context, const char* violation), void* context,
                              tenon_error* error) {
  struct Caller {
    void (*report)(void*, const char*);
    void* context;
  } caller{report, context};
  tenon::ViolationSink sink;
  if (report != nullptr) {
    sink.context = &caller;
    sink.report = [](void* to, const Status& violation) {
      const auto* target = static_cast<const Caller*>(to);
      tenon_error words;
      (void)Report(violation, &words);
      target->report(target->context, words.message);
      return true;
    };
  }
  const Result<PlanView> view = PlanView::Open(FileSpan(bytes, size));
  Status status = view.status();
  if (!status.ok()) {
    if (report != nullptr) sink.report(&caller, status);
    return Report(status, error);
  }
  status = CheckMemory(NameIfWords("scratch"), scratch, scratch_size,
                       tenon::PlanCheckScratchBytes(*view));
  if (status.ok()) {
    status = CheckPlan(*view, Span<uint8_t>(static_cast<uint8_t*>(scratch), scratch_size), sink);
  }
  return Report(status, error);
}

tenon_status tenon_plan_state_size(const void* bytes, size_t size, size_t* state_size,
                                   tenon_error* error) {
  if (state_size == nullptr) return Report(NullArgument("state_size"), error);
  const Result<PlanView> view = OpenPlan(bytes, size, /*skip_section_crc=*/true);
  if (view.ok()) *state_size = tenon::sdk::PlanStateBytes(*view);
  return Report(view.status(), error);
}

tenon_status tenon_plan_load(const void* bytes, size_t size, const tenon_backends* backends,
                             int32_t threads, void* state, size_t state_size, void* scratch,
                             size_t scratch_size, tenon_plan** plan, tenon_error* error) {
  if (backends == nullptr) return Report(NullArgument("backends"), error);
  if (plan == nullptr) return Report(NullArgument("plan"), error);
  *plan = nullptr;
  const Result<PlanView> view = OpenPlan(bytes, size, /*skip_section_crc=*/false);
  if (!view.ok()) return Report(view.status(), error);
  Status status =
      CheckMemory(NameIfWords("state"), state, state_size, tenon::sdk::PlanStateBytes(*view));
  if (status.ok()) {
    status = CheckMemory(NameIfWords("scratch"), scratch, scratch_size,
                         Plan::ScratchBytes(*view, kFirstProgram));
  }
  const tenon_memory given_state = {state, state_size};
  const tenon_memory given_scratch = {scratch, scratch_size};
  const tenon_memory file = {const_cast<void*>(bytes), size};
  if (status.ok() && (Overlap(given_state, given_scratch) || Overlap(file, given_state) ||
                      Overlap(file, given_scratch))) {
    status = Status(StatusCode::kInvalidArgument,
                    "plan, 'state' and 'scratch' overlap: give each memory of its own");
  }
  if (status.ok()) {
    status = tenon::sdk::LoadInto(
        *view, *backends, threads, Span<uint8_t>(static_cast<uint8_t*>(state), state_size),
        Span<uint8_t>(static_cast<uint8_t*>(scratch), scratch_size), plan, kFirstProgram);
  }
  return Report(status, error);
}

void tenon_plan_unload(tenon_plan* plan) {
  if (!IsLoaded(plan)) return;
  plan->loaded.Unload();
  plan->mark = 0;
}

tenon_status tenon_plan_verify(const tenon_plan* plan, tenon_error* error) {
  const Status status = tenon::sdk::CheckLoaded(plan);
  if (!status.ok()) return Report(status, error);
  const Result<PlanView> view = PlanView::Open(plan->loaded.view().file());
  if (view.ok() && view->header().crc32c != plan->check_sum) {
    return Report(Status(StatusCode::kCorruptPlan, "another plan lies where this one was loaded"),
                  error);
  }
  return Report(view.status(), error);
}

size_t tenon_plan_input_count(const tenon_plan* plan) {
  return IsLoaded(plan) ? plan->loaded.program().input_count() : 0;
}

size_t tenon_plan_output_count(const tenon_plan* plan) {
  return IsLoaded(plan) ? plan->loaded.program().output_count() : 0;
}

tenon_status tenon_plan_input(const tenon_plan* plan, size_t index, tenon_port_info* info) {
  return DescribePort(plan, info, /*first=*/0, index, tenon_plan_input_count(plan));
}

tenon_status tenon_plan_output(const tenon_plan* plan, size_t index, tenon_port_info* info) {
  return DescribePort(plan, info, tenon_plan_input_count(plan), index,
                      tenon_plan_output_count(plan));
}

size_t tenon_plan_op_count(const tenon_plan* plan) {
  return IsLoaded(plan) ? plan->loaded.program().op_count() : 0;
}

tenon_status tenon_plan_op(const tenon_plan* plan, size_t index, tenon_op_info* info) {
  if (info == nullptr || index >= tenon_plan_op_count(plan)) return TENON_INVALID_ARGUMENT;
  const tenon::OpInfo planned = plan->loaded.program().op(index);
  const tenon::OpNames names = plan->loaded.names(index);
  info->name = planned.name;
  info->kind = names.kind;
  info->backend = plan->loaded.backend_name(index);
  info->planned_kernel = plan->loaded.view().kernel(planned.kernel);
  const bool as_planned = tenon::NamesKernel(info->planned_kernel, names.kernel);
  info->kernel = as_planned ? info->planned_kernel : names.kernel;
  info->worker = plan->loaded.worker_name(index);
  return TENON_OK;
}

size_t tenon_plan_arena_count(const tenon_plan* plan) {
  return IsLoaded(plan) ? plan->loaded.program().arena_count() : 0;
}

tenon_status tenon_plan_arena(const tenon_plan* plan, size_t index, tenon_arena_info* info) {
  if (info == nullptr || index >= tenon_plan_arena_count(plan)) return TENON_INVALID_ARGUMENT;
  const tenon::ArenaInfo arena = plan->loaded.program().arena(index);
  info->space = plan->loaded.view().space_name(arena.space);
  info->bytes = tenon::BytesOf(arena);
  info->alignment = arena.alignment;
  return TENON_OK;
}

size_t tenon_plan_state_bytes(const tenon_plan* plan) {
  if (!IsLoaded(plan)) return 0;
  return tenon::sdk::PlanStateBytes(plan->loaded.view(), plan->loaded.program_index());
}

}  // extern "C"
