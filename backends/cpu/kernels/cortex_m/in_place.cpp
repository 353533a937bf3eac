#include "backends/cpu/caps/cortex_m_caps.hpp"
#include "backends/cpu/kernels/cortex_m/kernels.hpp"
#include "backends/cpu/kernels/in_place_rows.hpp"

namespace tenon::cpu::cortex_m {
namespace {

size_t RowsBytes(const OpCall& call) { return InPlacePartsRows(call, InPlaceNewRows(call)); }

}  // namespace

Status CheckOverInput(const KernelSetup& setup, Status (*check)(const KernelSetup& setup),
                      size_t (*own)(const OpCall& call, int threads)) {
  if (const Reason reason = InPlaceConvSupports(setup.op)) {
    return Status(StatusCode::kUnsupported, reason);
  }
  if (setup.op.Output().Elements() == 0) return OkStatus();
  const size_t least = InPlaceLeastBytes(setup.op, own);
  TENON_ENSURE(setup.workspace_bytes >= least, kCorruptPlan,
               "to work in place it needs {0} bytes of workspace, the plan gives {1}",
               static_cast<int64_t>(least), static_cast<int64_t>(setup.workspace_bytes));
  KernelSetup alone = setup;
  alone.workspace_bytes = own(setup.op, 1);
  return check(alone);
}

Status CheckInPlace(const KernelSetup& setup, Status (*check)(const KernelSetup& part),
                    size_t (*workspace)(const OpCall& call, int threads)) {
  if (const Reason reason = InPlaceConvSupports(setup.op)) {
    return Status(StatusCode::kUnsupported, reason);
  }
  if (setup.op.Output().Elements() == 0) return OkStatus();
  const size_t least = InPlacePartsWorkspace(setup.op, workspace);
  TENON_ENSURE(setup.workspace_bytes >= least, kCorruptPlan,
               "to work in place it needs {0} bytes of workspace, the plan gives {1}",
               static_cast<int64_t>(least), static_cast<int64_t>(setup.workspace_bytes));
  const InPlacePart part(setup.op, 0, 0, 1, nullptr);
  KernelSetup first = setup;
  first.op = part.call();
  first.workspace_bytes = setup.workspace_bytes - RowsBytes(setup.op);
  return check(first);
}

Status RunInPlace(const KernelCall& call, int32_t at_once, Status (*run)(const KernelCall& part)) {
  const TensorView& y = call.op.Output();
  if (y.Elements() == 0) return OkStatus();
  const size_t rows_bytes = InPlacePartsRows(call.op, at_once);
  InPlaceRows rows(call, InPlaceRowsBytes(call.op, at_once));
  for (int32_t image = 0; image < y.dims[0]; ++image) {
    for (int32_t first = 0; first < y.dims[2]; first += at_once) {
      const int32_t left = y.dims[2] - first;
      const int32_t count = left < at_once ? left : at_once;
      const InPlacePart part(call.op, image, first, count, rows.New());
      KernelCall of_part = call;
      of_part.op = part.call();
      of_part.workspace = static_cast<char*>(call.workspace) + rows_bytes;
      of_part.workspace_bytes = call.workspace_bytes - rows_bytes;
      TENON_RETURN_IF_ERROR(run(of_part));
      rows.Store(image, count);
    }
  }
  return OkStatus();
}

}  // namespace tenon::cpu::cortex_m
