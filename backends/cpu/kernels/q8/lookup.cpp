// Looks bytes up in tables.
#include "backends/cpu/caps/q8_caps.hpp"
#include "backends/cpu/kernels/q8/byte_routines.hpp"
#include "backends/cpu/kernels/q8/kernels.hpp"
#include "backends/cpu/kernels/q8/staged_rows.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::q8 {

Status LookupCheck(const KernelSetup& setup) {
  TENON_RETURN_IF_ERROR(CheckResult(LookupSupports(setup.op)));
  TENON_ENSURE(setup.op.Input(LookupInput::kTable).strides[0] == 1, kUnsupported,
               "the table must be dense");
  return OkStatus();
}

Status LookupRun(const KernelCall& call) {
  const auto& routines = *static_cast<const ByteRoutines*>(call.state);
  const TensorView& x = call.op.Input(LookupInput::kX);
  LookupCall lookup;
  lookup.table = call.op.Input(LookupInput::kTable).As<const uint8_t>();
  lookup.flip = FlipToU8(x.dtype);
  MapElements(call.op.Output(), x, call.parallel, lookup, routines.lookup);
  return OkStatus();
}

}  // namespace tenon::cpu::q8
