// The part of tenon.h that firmware has: no heap, no files, no threads.
#include <new>

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
using tenon::sdk::kHandleBytes;
using tenon::sdk::kStateAlignment;
using tenon::sdk::NullArgument;
using tenon::sdk::Report;

Span<const uint8_t> FileSpan(const void* bytes, size_t size) {
  return {static_cast<const uint8_t*>(bytes), size};
}

}  // namespace

namespace tenon::sdk {

Status NullArgument(const char* name) {
  return Status(StatusCode::kInvalidArgument, "argument '{s}' is NULL").About(name);
}

bool IsAligned(const void* pointer, size_t alignment) {
  return reinterpret_cast<uintptr_t>(pointer) % alignment == 0;
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

tenon_status FillPort(const ProgramView& program, const PortInfo& port, tenon_port_info* info) {
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
  return TENON_OK;
}

tenon_status Report(const Status& status, tenon_error* error) {
  if (error != nullptr) {
    if (status.ok()) {
      error->message[0] = '\0';
    } else {
      status.Format(Span<char>(error->message, sizeof error->message));
    }
  }
  return static_cast<tenon_status>(status.code());
}

size_t PlanScratchBytes(const PlanView& view, size_t program) {
  return view.program_count() == 0 ? PlanCheckScratchBytes(view)
                                   : LoadedPlan::ScratchBytes(view, program);
}

size_t PlanStateBytes(const PlanView& view, size_t program) {
  return kHandleBytes<tenon_plan> + LoadedPlan::StateBytes(view, program);
}

Status LoadInto(const PlanView& view, const tenon_backends& backends, int32_t threads,
                Span<uint8_t> state, Span<uint8_t> scratch, tenon_plan** plan, size_t program) {
  constexpr size_t kHandle = kHandleBytes<tenon_plan>;
  if (backends.list == nullptr && backends.count > 0) return NullArgument("backends.list");
  auto* handle = new (state.data()) tenon_plan();
  handle->program = program;
  const auto* list = reinterpret_cast<const Backend* const*>(backends.list);
  const Status status =
      handle->loaded.Load(view, program, Span<const Backend* const>(list, backends.count), threads,
                          Span<uint8_t>(state.data() + kHandle, state.size() - kHandle), scratch);
  if (!status.ok()) {
    handle->loaded.Unload();
    return status;
  }
  *plan = handle;
  return status;
}

}  // namespace tenon::sdk

extern "C" {

const char* tenon_status_text(tenon_status status) {
  const auto number = static_cast<unsigned>(status);
  if (number > TENON_IO_ERROR) return "unknown status";
  return tenon::StatusCodeText(static_cast<StatusCode>(status));
}

const char* tenon_dtype_name(tenon_dtype dtype) {
  return tenon::IsValidDType(dtype) ? tenon::DTypeName(static_cast<tenon::DType>(dtype)) : "?";
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
  *scratch_size = tenon::sdk::PlanScratchBytes(*view);
  return Report(OkStatus(), error);
}

tenon_status tenon_plan_check(const void* bytes, size_t size, void* scratch, size_t scratch_size,
                              void (*report)(void* context, const char* violation), void* context,
                              tenon_error* error) {
  const Result<PlanView> view = PlanView::Open(FileSpan(bytes, size));
  if (!view.ok()) {
    const tenon_status code = Report(view.status(), error);
    if (report != nullptr) {
      tenon_error words;
      (void)Report(view.status(), &words);
      report(context, words.message);
    }
    return code;
  }
  const Status memory =
      CheckMemory("scratch", scratch, scratch_size, tenon::PlanCheckScratchBytes(*view));
  if (!memory.ok()) return Report(memory, error);
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
  return Report(CheckPlan(*view, Span<uint8_t>(static_cast<uint8_t*>(scratch), scratch_size), sink),
                error);
}

tenon_status tenon_plan_state_size(const void* bytes, size_t size, size_t* state_size,
                                   tenon_error* error) {
  if (state_size == nullptr) return Report(NullArgument("state_size"), error);
  const Result<PlanView> view = PlanView::Open(FileSpan(bytes, size), /*skip_section_crc=*/true);
  if (!view.ok()) return Report(view.status(), error);
  if (view->program_count() == 0) {
    return Report(Status(StatusCode::kCorruptPlan, "the plan holds no program"), error);
  }
  *state_size = tenon::sdk::PlanStateBytes(*view);
  return Report(OkStatus(), error);
}

tenon_status tenon_plan_load(const void* bytes, size_t size, const tenon_backends* backends,
                             int32_t threads, void* state, size_t state_size, void* scratch,
                             size_t scratch_size, tenon_plan** plan, tenon_error* error) {
  if (backends == nullptr) return Report(NullArgument("backends"), error);
  if (plan == nullptr) return Report(NullArgument("plan"), error);
  *plan = nullptr;
  const Result<PlanView> view = PlanView::Open(FileSpan(bytes, size));
  if (!view.ok()) return Report(view.status(), error);
  if (view->program_count() == 0) {
    return Report(Status(StatusCode::kCorruptPlan, "the plan holds no program"), error);
  }
  Status status = CheckMemory("state", state, state_size, tenon::sdk::PlanStateBytes(*view));
  if (!status.ok()) return Report(status, error);
  status = CheckMemory("scratch", scratch, scratch_size, tenon::sdk::PlanScratchBytes(*view));
  if (!status.ok()) return Report(status, error);
  return Report(
      tenon::sdk::LoadInto(*view, *backends, threads,
                           Span<uint8_t>(static_cast<uint8_t*>(state), state_size),
                           Span<uint8_t>(static_cast<uint8_t*>(scratch), scratch_size), plan),
      error);
}

void tenon_plan_unload(tenon_plan* plan) {
  if (plan != nullptr) plan->loaded.Unload();
}

size_t tenon_plan_input_count(const tenon_plan* plan) {
  return plan == nullptr ? 0 : plan->loaded.program().input_count();
}

size_t tenon_plan_output_count(const tenon_plan* plan) {
  return plan == nullptr ? 0 : plan->loaded.program().output_count();
}

tenon_status tenon_plan_input(const tenon_plan* plan, size_t index, tenon_port_info* info) {
  if (info == nullptr || index >= tenon_plan_input_count(plan)) return TENON_INVALID_ARGUMENT;
  return FillPort(plan->loaded.program(), plan->loaded.program().input(index), info);
}

tenon_status tenon_plan_output(const tenon_plan* plan, size_t index, tenon_port_info* info) {
  if (info == nullptr || index >= tenon_plan_output_count(plan)) return TENON_INVALID_ARGUMENT;
  return FillPort(plan->loaded.program(), plan->loaded.program().output(index), info);
}

size_t tenon_plan_program_count(const tenon_plan* plan) {
  return plan == nullptr ? 0 : plan->loaded.view().program_count();
}

tenon_status tenon_plan_program(const tenon_plan* plan, size_t index, tenon_program_info* info) {
  if (info == nullptr || index >= tenon_plan_program_count(plan)) return TENON_INVALID_ARGUMENT;
  const tenon::ProgramView program = plan->loaded.view().program(index);
  *info = tenon_program_info{};
  info->name = program.name();
  info->is_pipeline = program.mode() == static_cast<uint8_t>(tenon::ProgramMode::kPipeline) ? 1 : 0;
  info->is_loaded = index == plan->program ? 1 : 0;
  info->workers = program.worker_count();
  return TENON_OK;
}

size_t tenon_plan_op_count(const tenon_plan* plan) {
  return plan == nullptr ? 0 : plan->loaded.ops().size();
}

tenon_status tenon_plan_op(const tenon_plan* plan, size_t index, tenon_op_info* info) {
  if (info == nullptr || index >= tenon_plan_op_count(plan)) return TENON_INVALID_ARGUMENT;
  const tenon::BoundOp& op = plan->loaded.ops()[index];
  const tenon::OpInfo planned = plan->loaded.program().op(index);
  info->name = planned.name;
  info->kind = op.kernel->row->name;
  info->backend = plan->loaded.backend(op.backend)->name;
  info->planned_kernel = plan->loaded.view().kernel(planned.kernel);
  const bool as_planned = tenon::NamesKernel(info->planned_kernel, op.kernel->id);
  info->kernel = as_planned ? info->planned_kernel : op.kernel->id;
  info->worker = plan->loaded.program().worker_name(op.worker);
  return TENON_OK;
}

size_t tenon_plan_arena_count(const tenon_plan* plan) {
  return plan == nullptr ? 0 : plan->loaded.program().arena_count();
}

tenon_status tenon_plan_arena(const tenon_plan* plan, size_t index, tenon_arena_info* info) {
  if (info == nullptr || index >= tenon_plan_arena_count(plan)) return TENON_INVALID_ARGUMENT;
  const tenon::ArenaInfo arena = plan->loaded.program().arena(index);
  info->space = plan->loaded.view().space_name(arena.space);
  info->bytes = static_cast<size_t>(tenon::ArenaBytes(arena));
  info->alignment = arena.alignment;
  return TENON_OK;
}

size_t tenon_plan_state_bytes(const tenon_plan* plan) {
  return plan == nullptr ? 0 : tenon::sdk::PlanStateBytes(plan->loaded.view(), plan->program);
}

const char* tenon_plan_notice(const tenon_plan* plan) {
  return plan == nullptr ? "" : plan->loaded.notice();
}

size_t tenon_plan_packed_bytes(const tenon_plan* plan) {
  return plan == nullptr ? 0 : plan->loaded.PackedBytes();
}

}  // extern "C"
