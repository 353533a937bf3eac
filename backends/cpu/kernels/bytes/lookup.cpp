// Table lookups of bytes.
#include "backends/cpu/caps/bytes_caps.hpp"
#include "backends/cpu/kernels/bytes/choose_routines.hpp"
#include "backends/cpu/kernels/bytes/kernels.hpp"
#include "backends/cpu/kernels/bytes/staged_rows.hpp"

namespace tenon::cpu::bytes {

Status LookupCheck(const KernelSetup& setup) {
  TENON_RETURN_IF_ERROR(CheckResult(LookupSupports(setup.op)));
  TENON_ENSURE(setup.op.Input(1).strides[0] == 1, kUnsupported, "the table must be dense");
  return OkStatus();
}

Status LookupRun(const KernelCall& call) {
  const auto& routines = *static_cast<const ByteRoutines*>(call.state);
  const TensorView& x = call.op.Input(0);
  const TensorView& y = call.op.Output();
  portable::LoopNest<2> nest;
  for (int k = 0; k < y.rank; ++k) nest.Add(y.dims[k], y.strides[k], x.strides[k]);
  nest.Simplify();
  nest.LengthenRows();
  LookupCall lookup;
  lookup.table = call.op.Input(1).As<const uint8_t>();
  lookup.flip = FlipToU8(x.dtype);
  const portable::Cursor<2> start = {{y.As<char>(), x.As<char>()}};
  portable::ForEachRow(
      nest, start, call.parallel, [&](const portable::Cursor<2>& cursor, int count) {
        ForEachPiece<uint8_t, uint8_t>(cursor.at[0], nest.RowStride(0), cursor.at[1],
                                       nest.RowStride(1), count,
                                       [&](uint8_t* to, const uint8_t* from, int piece) {
                                         LookupCall part = lookup;
                                         part.x = from;
                                         part.y = to;
                                         part.count = piece;
                                         routines.lookup(part);
                                       });
      });
  return OkStatus();
}

}  // namespace tenon::cpu::bytes
