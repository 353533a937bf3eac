#include "runtime/engine/one_worker_plan.hpp"

#include "runtime/base/text.hpp"
#include "runtime/engine/kernel_choice.hpp"
#include "runtime/engine/plan_memory.hpp"
#include "runtime/format/plan_check.hpp"

namespace tenon {
namespace {

constexpr char kCpu[] = "cpu";

Status FindCpu(Span<const Backend* const> backends, const Backend** found) {
  for (const Backend* backend : backends) {
    TENON_ENSURE(backend != nullptr, kInvalidArgument, "a backend in the list is NULL");
    if (SameText(backend->name, kCpu)) *found = backend;
  }
  if (*found != nullptr) return OkStatus();
  return Status(StatusCode::kUnsupported,
                "the plan needs backend '{s}', which this program was built without")
      .About(kCpu);
}

}  // namespace

size_t OneWorkerPlan::StateBytes(const PlanView& plan) {
  return plan.program(0).op_count() * kStateBytesPerOp;
}

size_t OneWorkerPlan::ScratchBytes(const PlanView& plan) {
  const size_t check = PlanCheckScratchBytes(plan);
  const size_t views = plan.program(0).tensor_count() * sizeof(TensorView);
  return check > views ? check : views;
}

Status OneWorkerPlan::Load(const PlanView& plan, Span<const Backend* const> backends, int threads,
                           uint8_t* state, Span<uint8_t> scratch) {
  TENON_ENSURE(threads == 1, kInvalidArgument, "{0} threads asked for: firmware has 1", threads);
  TENON_RETURN_IF_ERROR(CheckPlan(plan, scratch));
  view_ = plan;
  program_ = plan.program(0);
  // The plan check is done with its scratch, which has more than a byte for each storage.
  TENON_RETURN_IF_ERROR(CheckPorts(program_, scratch.data()));
  const Backend* cpu = nullptr;
  TENON_RETURN_IF_ERROR(FindCpu(backends, &cpu));
  auto* const views = reinterpret_cast<TensorView*>(scratch.data());
  DescribeTensors(nullptr, views);
  // The plan check has proven that every op is in exactly one step, and that 16 bits count them.
  const size_t ops = program_.op_count();
  kernels_ = reinterpret_cast<const KernelEntry**>(state);
  order_ = reinterpret_cast<uint16_t*>(kernels_ + ops);
  for (size_t i = 0; i < ops; ++i) {
    order_[i] = static_cast<uint16_t>(program_.step(0, i).op);
    const Status status = BindOp(i, cpu->kernels, views);
    if (!status.ok()) return AtOp(status, i);
  }
  return OkStatus();
}

Status OneWorkerPlan::AtOp(const Status& status, size_t op) const {
  if constexpr (kHasWords) return status.About(program_.op(op).name);
  return status.AtOp(op);
}

Status OneWorkerPlan::BindOp(size_t op, const KernelList& kernels, const TensorView* views) {
  const OpInfo info = program_.op(op);
  TENON_RETURN_IF_ERROR(CheckWorkspace(program_, info.workspace));
  KernelCall call;
  Prepare(op, views, &call);
  KernelSetup setup;
  setup.op = call.op;
  setup.workspace_bytes = call.workspace_bytes;
  setup.in_place = info.in_place;
  const KernelQuery query{program_, info, view_.kernel(info.kernel), setup};
  return ChooseKernel(query, kernels, &kernels_[op]);
}

uint8_t* OneWorkerPlan::Address(const TensorInfo& tensor, void* const* arenas) const {
  const StorageInfo storage = program_.storage(tensor.storage);
  uint8_t* start = nullptr;
  if (storage.home == StorageHome::kSection) {
    // Kernels never write constants: the plan check has proven it.
    start = const_cast<uint8_t*>(view_.section_data(storage.index));
  } else if (arenas == nullptr) {
    return nullptr;
  } else {
    start = static_cast<uint8_t*>(arenas[storage.index]);
  }
  return start + storage.offset + tensor.offset;
}

void OneWorkerPlan::DescribeTensors(void* const* arenas, TensorView* views) const {
  for (size_t i = 0; i < program_.tensor_count(); ++i) {
    const TensorInfo tensor = program_.tensor(i);
    views[i] = {Address(tensor, arenas), tensor.dims.data(), tensor.strides.data(), tensor.dtype,
                static_cast<uint8_t>(tensor.dims.size())};
  }
}

void OneWorkerPlan::Prepare(size_t op, const TensorView* views, KernelCall* call) const {
  const OpOperands operands = program_.op_operands(op);
  call->op = {views, operands.inputs, operands.outputs, operands.attributes.data()};
  call->workspace = nullptr;
  call->workspace_bytes = 0;
  if (operands.workspace >= 0) {
    const TensorView& workspace = views[operands.workspace];
    call->workspace = workspace.data;
    call->workspace_bytes = static_cast<size_t>(workspace.Elements());
  }
}

}  // namespace tenon
