#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

Status Infer(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<SliceAttributes>();
  const Shape x = call.Input(0).shape();
  TENON_ENSURE(attributes.rank == x.rank, kInvalidArgument,
               "the slice has rank {0}, the input has rank {1}", attributes.rank, x.rank);
  for (int32_t i = 0; i < x.rank; ++i) {
    const int64_t begin = attributes.begins[i];
    const int64_t size = attributes.sizes[i];
    const int64_t step = attributes.steps[i];
    TENON_ENSURE(step != 0, kInvalidArgument, "the step of dimension {0} is 0", i);
    TENON_ENSURE(size >= 0, kInvalidArgument, "the size of dimension {0} is negative", i);
    // An empty slice may begin where the dimension ends, as x[n:n] does.
    const int64_t last = size == 0 ? 0 : begin + (size - 1) * step;
    const int64_t limit = size == 0 ? int64_t{x[i]} + 1 : int64_t{x[i]};
    TENON_ENSURE(begin >= 0 && begin < limit && last >= 0 && last < limit, kInvalidArgument,
                 "dimension {0} is sliced outside its {1} elements", i, x[i]);
  }
  return SetOutput(call.Input(0).dtype, Shape(attributes.sizes, x.rank), outputs);
}

}  // namespace

constexpr OpRow kSliceRow =
    MakeOpRow<SliceAttributes>(OpKind::kSlice, /*min_inputs=*/1, /*max_inputs=*/1, Infer);

}  // namespace tenon
