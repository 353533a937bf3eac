#include <cmath>

#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

/// No coordinate in the input may pass this, so that kernels can round it to 32 bits.
constexpr double kMaxCoordinate = 1 << 30;

Status CheckModes(const ResizeAttributes& attributes, DType dtype) {
  TENON_ENSURE(IsValidEnum(attributes.mode, kResizeModeCount), kInvalidArgument,
               "there is no resize mode {0}", static_cast<int64_t>(attributes.mode));
  TENON_ENSURE(IsValidEnum(attributes.coordinates, kCoordinateModeCount), kInvalidArgument,
               "there is no coordinate mode {0}", static_cast<int64_t>(attributes.coordinates));
  TENON_ENSURE(IsValidEnum(attributes.nearest, kNearestModeCount), kInvalidArgument,
               "there is no nearest mode {0}", static_cast<int64_t>(attributes.nearest));
  TENON_ENSURE(std::isfinite(attributes.cubic_a), kInvalidArgument, "cubic_a must be finite");
  TENON_ENSURE(IsFlag(attributes.exclude_outside), kInvalidArgument,
               "exclude_outside must be 0 or 1");
  const bool copies = attributes.mode == ResizeMode::kNearest;
  TENON_ENSURE(IsComputeFloat(dtype) || (copies && IsInteger(dtype)), kInvalidArgument,
               "the input must be f32, f16, f64 or, for nearest, an integer type");
  return OkStatus();
}

Status CheckDimension(int32_t axis, int32_t dim, int32_t size, float scale) {
  TENON_ENSURE(size >= 0, kInvalidArgument, "the size of dimension {0} is negative", axis);
  TENON_ENSURE((dim == 0) == (size == 0), kInvalidArgument,
               "dimension {0} cannot become {2} from {1}", axis, dim, size);
  TENON_ENSURE(std::isfinite(scale) && scale > 0.0F, kInvalidArgument,
               "the scale of dimension {0} must be positive and finite", axis);
  TENON_ENSURE(static_cast<double>(size) / static_cast<double>(scale) <= kMaxCoordinate,
               kInvalidArgument, "the scale of dimension {0} is too small for its size", axis);
  return OkStatus();
}

Status Infer(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<ResizeAttributes>();
  const DType dtype = call.Input(0).dtype;
  const Shape x = call.Input(0).shape();
  TENON_RETURN_IF_ERROR(CheckModes(attributes, dtype));
  TENON_ENSURE(attributes.rank == x.rank, kInvalidArgument,
               "the sizes have rank {0}, the input has rank {1}", attributes.rank, x.rank);
  const bool interpolates = attributes.mode != ResizeMode::kNearest;
  TENON_ENSURE(!interpolates || x.rank == 4, kInvalidArgument,
               "linear and cubic need an input of rank 4, not {0}", x.rank);
  for (int32_t i = 0; i < x.rank; ++i) {
    TENON_RETURN_IF_ERROR(CheckDimension(i, x[i], attributes.sizes[i], attributes.scales[i]));
    const bool unchanged = attributes.sizes[i] == x[i] && attributes.scales[i] == 1.0F;
    TENON_ENSURE(!interpolates || i >= 2 || unchanged, kInvalidArgument,
                 "linear and cubic cannot resize dimension {0}", i);
  }
  return SetOutput(dtype, Shape(attributes.sizes, x.rank), outputs);
}

}  // namespace

constexpr OpRow kResizeRow =
    MakeOpRow<ResizeAttributes>(OpKind::kResize, /*min_inputs=*/1, /*max_inputs=*/1, Infer);

}  // namespace tenon
