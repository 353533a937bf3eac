#include "runtime/ops/quantized_rules.hpp"
#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

Status Infer(const OpCall& call, OutputType* outputs) {
  const TensorView& table = call.Input(1);
  TENON_ENSURE(IsQuantized(call.Input(0).dtype), kInvalidArgument, "the input must be i8 or u8");
  TENON_ENSURE(IsQuantized(table.dtype) || table.dtype == DType::kF32, kInvalidArgument,
               "the table must be i8, u8 or f32");
  TENON_ENSURE(table.rank == 1 && table.dims[0] == 256, kInvalidArgument,
               "the table must have 256 entries");
  return SetOutput(table.dtype, call.Input(0).shape(), outputs);
}

}  // namespace

constexpr OpRow kLookupRow = {OpKind::kLookup,
                              "lookup",
                              /*min_inputs=*/2,
                              /*max_inputs=*/2,
                              /*outputs=*/1,
                              0,
                              Infer,
                              /*in_place_inputs=*/1U << 0};

constexpr OpText kLookupText = {{}, nullptr};

}  // namespace tenon
