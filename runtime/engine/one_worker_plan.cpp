#include "runtime/engine/one_worker_plan.hpp"

#include "runtime/base/text.hpp"
#include "runtime/engine/kernel_choice.hpp"
#include "runtime/engine/plan_memory.hpp"
#include "runtime/format/plan_check.hpp"

namespace tenon {
namespace {

constexpr char kCpu[] = "cpu";

/// Operands of the op that has the most.
size_t MostOperands(const ProgramView& program) {
  size_t most = 0;
  for (size_t i = 0; i < program.op_count(); ++i) {
    const OpInfo op = program.op(i);
    const size_t count = op.inputs.size() + op.outputs.size();
    most = count > most ? count : most;
  }
  return most;
}

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

uint8_t* Places::Find(uint32_t index, const StorageInfo& storage) const {
  for (size_t i = 0; bound != 0 && i < ports.size(); ++i) {
    if (ports[i].storage == index && ports[i].data != nullptr) {
      return static_cast<uint8_t*>(ports[i].data);
    }
  }
  return static_cast<uint8_t*>(arenas[storage.index]) + storage.offset;
}

size_t OperandRoom::Bytes(const ProgramView& program) {
  return MostOperands(program) * (sizeof(TensorView) + sizeof(int32_t));
}

OperandRoom OperandRoom::At(void* memory, const ProgramView& program) {
  auto* views = static_cast<TensorView*>(memory);
  return {views, reinterpret_cast<int32_t*>(views + MostOperands(program))};
}

size_t OneWorkerPlan::StateBytes(const PlanView& plan) {
  return plan.program(0).op_count() * sizeof(KernelEntry*);
}

size_t OneWorkerPlan::ScratchBytes(const PlanView& plan) {
  const size_t check = PlanCheckScratchBytes(plan);
  const size_t room = OperandRoom::Bytes(plan.program(0));
  return check > room ? check : room;
}

Status OneWorkerPlan::Load(const PlanView& plan, Span<const Backend* const> backends, int threads,
                           uint8_t* state, Span<uint8_t> scratch) {
  TENON_ENSURE(threads == 1, kInvalidArgument, "{0} threads asked for: firmware has 1", threads);
  TENON_RETURN_IF_ERROR(CheckPlan(plan, scratch));
  view_ = plan;
  program_ = plan.program(0);
  // The plan check is done with its scratch, which has more than a byte for each storage.
  TENON_RETURN_IF_ERROR(CheckPorts(program_, scratch.data()));
  kernels_ = reinterpret_cast<const KernelEntry**>(state);
  const OperandRoom room = OperandRoom::At(scratch.data(), program_);
  const Backend* cpu = nullptr;
  TENON_RETURN_IF_ERROR(FindCpu(backends, &cpu));
  for (size_t i = 0; i < program_.op_count(); ++i) {
    const Status status = BindOp(i, cpu->kernels, room);
    if (!status.ok()) return AtOp(status, i);
  }
  return OkStatus();
}

Status OneWorkerPlan::AtOp(const Status& status, size_t op) const {
  if constexpr (kHasWords) return status.About(program_.op(op).name);
  return status.AtOp(op);
}

Status OneWorkerPlan::BindOp(size_t op, const KernelList& kernels, const OperandRoom& room) {
  const DescribedOp described = Describe(op, nullptr, room);
  TENON_RETURN_IF_ERROR(CheckWorkspace(program_, described.info.workspace));
  KernelSetup setup;
  setup.op = described.call.op;
  setup.workspace_bytes = described.call.workspace_bytes;
  setup.in_place = described.info.in_place;
  const KernelQuery query{program_, described.info, view_.kernel(described.info.kernel), setup};
  return ChooseKernel(query, kernels, &kernels_[op]);
}

/// A view of the tensor, or an empty one for -1.
void OneWorkerPlan::View(int32_t tensor, const Places* places, TensorView& view) const {
  view = TensorView{};
  if (tensor < 0) return;
  const TensorInfo info = program_.tensor(static_cast<size_t>(tensor));
  view.dims = info.dims.data();
  view.strides = info.strides.data();
  view.dtype = info.dtype;
  view.rank = static_cast<uint8_t>(info.dims.size());
  const StorageInfo storage = program_.storage(info.storage);
  if (storage.home == StorageHome::kSection) {
    // Kernels never write constants: the plan check has proven it.
    view.data =
        const_cast<uint8_t*>(view_.section_data(storage.index)) + storage.offset + info.offset;
  } else if (places != nullptr) {
    view.data = places->Find(info.storage, storage) + info.offset;
  }
}

DescribedOp OneWorkerPlan::Describe(size_t op, const Places* places,
                                    const OperandRoom& room) const {
  DescribedOp described{program_.op(op), {}};
  const OpInfo& info = described.info;
  const size_t inputs = info.inputs.size();
  const size_t operands = inputs + info.outputs.size();
  for (size_t i = 0; i < operands; ++i) {
    const int32_t tensor = i < inputs ? info.inputs[i] : info.outputs[i - inputs];
    room.ids[i] = tensor < 0 ? -1 : static_cast<int32_t>(i);
    View(tensor, places, room.views[i]);
  }
  TensorView workspace;
  View(info.workspace, places, workspace);
  KernelCall& call = described.call;
  call.op.tensors = room.views;
  call.op.input_ids = {room.ids, inputs};
  call.op.output_ids = {room.ids + inputs, info.outputs.size()};
  call.op.attributes = info.attributes.data();
  call.workspace = workspace.data;
  if (info.workspace >= 0) call.workspace_bytes = static_cast<size_t>(workspace.Elements());
  return described;
}

}  // namespace tenon
