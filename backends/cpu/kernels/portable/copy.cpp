#include "backends/cpu/caps/portable_supports.hpp"
#include "backends/cpu/kernels/portable/copy_strided.hpp"
#include "backends/cpu/kernels/portable/kernels.hpp"

namespace tenon::cpu::portable {

Status CopyCheck(const KernelSetup& setup) { return CheckResult(CopySupports(setup.op)); }

Status CopyRun(const KernelCall& call) {
  CopyView(call.op.Output(), call.op.Input(0), call.parallel);
  return OkStatus();
}

}  // namespace tenon::cpu::portable
