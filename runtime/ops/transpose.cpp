#include "runtime/ops/attribute_fields.hpp"
#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

constexpr TransposeAttributes kDefaults{};

constexpr AttributeField kFields[] = {
    IntField("rank", offsetof(TransposeAttributes, rank)),
    IntField("permutation", offsetof(TransposeAttributes, permutation), kMaxRank),
};

Status Infer(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<TransposeAttributes>();
  const Shape x = call.Input(0).shape();
  TENON_ENSURE(attributes.rank == x.rank, kInvalidArgument,
               "the permutation has rank {0}, the input has rank {1}", attributes.rank, x.rank);
  Shape y = x;
  uint32_t seen = 0;
  for (int32_t i = 0; i < x.rank; ++i) {
    const int32_t source = attributes.permutation[i];
    TENON_ENSURE(source >= 0 && source < x.rank && ((seen >> source) & 1U) == 0, kInvalidArgument,
                 "entry {0} of the permutation is out of range or there twice", i);
    seen |= 1U << source;
    y[i] = x[source];
  }
  return SetOutput(call.Input(0).dtype, y, outputs);
}

}  // namespace

constexpr OpRow kTransposeRow = {OpKind::kTranspose,
                                 "transpose",
                                 /*min_inputs=*/1,
                                 /*max_inputs=*/1,
                                 /*outputs=*/1,
                                 sizeof(TransposeAttributes) / 4,
                                 Infer};

constexpr OpText kTransposeText = {kFields, &kDefaults};

}  // namespace tenon
