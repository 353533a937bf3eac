// The same elements under other dimensions: reshape, transpose, expand.
#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

Status InferReshape(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<ReshapeAttributes>();
  const TensorView& x = call.Input(0);
  const Shape y(attributes.dims, attributes.rank);
  TENON_RETURN_IF_ERROR(SetOutput(x.dtype, y, outputs));
  TENON_ENSURE(y.Elements() == x.Elements(), kInvalidArgument,
               "{0} elements cannot become {1} elements", x.Elements(), y.Elements());
  return OkStatus();
}

Status InferTranspose(const OpCall& call, OutputType* outputs) {
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

Status InferExpand(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<ExpandAttributes>();
  const TensorView& x = call.Input(0);
  const Shape y(attributes.dims, attributes.rank);
  TENON_RETURN_IF_ERROR(SetOutput(x.dtype, y, outputs));
  TENON_ENSURE(BroadcastsTo(x.shape(), y), kInvalidArgument,
               "the input does not broadcast to the wanted shape");
  return OkStatus();
}

}  // namespace

constexpr OpRow kReshapeRow = MakeOpRow<ReshapeAttributes>(OpKind::kReshape, /*min_inputs=*/1,
                                                           /*max_inputs=*/1, InferReshape);

constexpr OpRow kTransposeRow = MakeOpRow<TransposeAttributes>(OpKind::kTranspose, /*min_inputs=*/1,
                                                               /*max_inputs=*/1, InferTranspose);

constexpr OpRow kExpandRow =
    MakeOpRow<ExpandAttributes>(OpKind::kExpand, /*min_inputs=*/1, /*max_inputs=*/1, InferExpand);

}  // namespace tenon
