#include <cmath>

#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

/// True if `value` is exactly a value of `dtype`, so that kernels can convert it without care.
/// Floats take anything: out of range becomes infinite.
bool IsValueOf(float value, DType dtype) {
  if (IsFloat(dtype)) return true;
  if (!std::isfinite(value) || std::trunc(value) != value) return false;
  if (dtype == DType::kBool) return value == 0.0F || value == 1.0F;
  const int bits = 8 * DTypeBytes(dtype);
  if (IsSignedInteger(dtype)) {
    const float limit = std::ldexp(1.0F, bits - 1);
    return value >= -limit && value < limit;
  }
  return value >= 0.0F && value < std::ldexp(1.0F, bits);
}

/// Checks one dimension of `dim` elements. Removing leaves elements of the input only; what edge
/// and reflect copy must be among the elements that stay.
Status CheckDimension(PadMode mode, int64_t dim, int64_t begin, int64_t end) {
  const int64_t removed = (begin < 0 ? -begin : 0) + (end < 0 ? -end : 0);
  TENON_ENSURE(removed <= dim, kInvalidArgument, "{0} of {1} elements cannot be removed", removed,
               dim);
  const int64_t kept = dim - removed;
  const int64_t most = begin > end ? begin : end;
  if (mode == PadMode::kEdge) {
    TENON_ENSURE(most <= 0 || kept >= 1, kInvalidArgument, "there is no edge to repeat");
  }
  if (mode == PadMode::kReflect) {
    TENON_ENSURE(most <= 0 || most < kept, kInvalidArgument, "{0} elements cannot reflect {1}",
                 kept, most);
  }
  return OkStatus();
}

Status Infer(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<PadAttributes>();
  const DType dtype = call.Input(0).dtype;
  Shape y = call.Input(0).shape();
  TENON_ENSURE(IsValidEnum(attributes.mode, kPadModeCount), kInvalidArgument,
               "there is no pad mode {0}", static_cast<int64_t>(attributes.mode));
  TENON_ENSURE(attributes.mode != PadMode::kConstant || IsValueOf(attributes.value, dtype),
               kInvalidArgument, "the pad value is not a value of the input's dtype");
  TENON_ENSURE(attributes.rank == y.rank, kInvalidArgument,
               "the pads have rank {0}, the input has rank {1}", attributes.rank, y.rank);
  for (int32_t i = 0; i < y.rank; ++i) {
    const int64_t begin = attributes.begins[i];
    const int64_t end = attributes.ends[i];
    TENON_RETURN_IF_ERROR(CheckDimension(attributes.mode, y[i], begin, end));
    const int64_t extent = y[i] + begin + end;
    TENON_ENSURE(extent <= INT32_MAX, kInvalidArgument, "dimension {0} would pass 2^31", i);
    y[i] = static_cast<int32_t>(extent);
  }
  return SetOutput(dtype, y, outputs);
}

}  // namespace

constexpr OpRow kPadRow =
    MakeOpRow<PadAttributes>(OpKind::kPad, /*min_inputs=*/1, /*max_inputs=*/1, Infer);

}  // namespace tenon
