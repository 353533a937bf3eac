#include "runtime/engine/one_worker_plan.hpp"

#include "runtime/base/text.hpp"
#include "runtime/engine/find_kernel.hpp"
#include "runtime/engine/plan_memory.hpp"
#include "runtime/format/plan_check.hpp"

namespace tenon {
namespace {

constexpr char kCpu[] = "cpu";

Status FindCpu(Span<const Backend* const> backends, const Backend** found) {
  for (const Backend* backend : backends) {
    TENON_ENSURE(backend != nullptr, kInvalidArgument, "a backend in the list is NULL");
    if (SameText(backend->name, kCpu) && backend->kernels.size() <= OneWorkerPlan::kMostKernels) {
      *found = backend;
    }
  }
  if (*found != nullptr) return OkStatus();
  return Status(StatusCode::kUnsupported,
                "the plan needs backend '{s}', with 256 kernels at most: this program was built "
                "without")
      .About(kCpu);
}

}  // namespace

size_t OneWorkerPlan::StateBytes(const PlanView& plan) {
  return plan.section_count() * kStateBytesPerSection +
         plan.program(0).op_count() * kStateBytesPerOp;
}

Status OneWorkerPlan::Load(const PlanView& plan, Span<const Backend* const> backends, int threads,
                           uint8_t* state, Span<uint8_t> scratch) {
  TENON_ENSURE(threads == 1, kInvalidArgument, "{0} threads asked for: firmware has 1", threads);
  TENON_RETURN_IF_ERROR(CheckPlan(plan, scratch));
  view_ = plan;
  program_ = plan.program(0);
  // The plan check is done with its scratch, which has more than a byte for each storage.
  TENON_RETURN_IF_ERROR(CheckPorts(program_, scratch.data()));
  TENON_RETURN_IF_ERROR(FindCpu(backends, &cpu_));
  sections_ = reinterpret_cast<uint8_t**>(state);
  const size_t sections = plan.section_count();
  for (size_t i = 0; i < sections; ++i) sections_[i] = const_cast<uint8_t*>(plan.section_data(i));
  kernel_of_ = reinterpret_cast<uint8_t*>(sections_ + sections);
  RunReader reader;
  reader.program = program_;
  reader.memory = {{nullptr, sections_}, {}};
  reader.room = RoomAt(scratch.data(), scratch.size() / kOperandRoomBytes);
  reader.Open();
  for (size_t i = 0; i < program_.op_count(); ++i) {
    const Status status = BindOp(i, reader);
    if (!status.ok()) return AtOp(status, i);
  }
  return OkStatus();
}

Status OneWorkerPlan::BindOp(size_t op, const RunReader& reader) {
  const OpInfo info = program_.op(op);
  TENON_RETURN_IF_ERROR(CheckWorkspace(program_, info.workspace));
  KernelSetup setup;
  setup.workspace_bytes = reader.Read(op, &setup.op).size();
  setup.in_place = info.in_place;
  const size_t operands = setup.op.input_ids.size() + setup.op.output_ids.size() + 1;
  if (operands > most_operands_) most_operands_ = operands;
  const KernelQuery query{program_, info, view_.kernel(info.kernel), setup,
                          kHasWords ? view_.board() : ""};
  size_t chosen = 0;
  TENON_RETURN_IF_ERROR(ChooseKernel(query, cpu_->kernels, &chosen));
  kernel_of_[op] = static_cast<uint8_t>(chosen);
  return OkStatus();
}

const KernelEntry& OneWorkerPlan::kernel(size_t op) const { return cpu_->kernels[kernel_of_[op]]; }

}  // namespace tenon
