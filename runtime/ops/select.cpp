#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

Status Infer(const OpCall& call, OutputType* outputs) {
  TENON_ENSURE(call.Input(0).dtype == DType::kBool, kInvalidArgument, "the condition must be bool");
  TENON_ENSURE(call.Input(1).dtype == call.Input(2).dtype, kInvalidArgument,
               "both choices must have the same dtype");
  Shape choices;
  Shape y;
  TENON_ENSURE(Broadcast(call.Input(1).shape(), call.Input(2).shape(), &choices) &&
                   Broadcast(call.Input(0).shape(), choices, &y),
               kInvalidArgument, "the operands' shapes do not broadcast");
  return SetOutput(call.Input(1).dtype, y, outputs);
}

}  // namespace

constexpr OpRow kSelectRow = {OpKind::kSelect,       "select",      /*min_inputs=*/3,
                              /*max_inputs=*/3,      /*outputs=*/1,
                              /*attribute_words=*/0, Infer};

constexpr OpText kSelectText = {{}, nullptr};

}  // namespace tenon
