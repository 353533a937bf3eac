// Pooling: Caffe rounds the number of windows up unless told otherwise.
#include "caffe_subset.pb.h"
#include "converter/import/caffe/lowering_table.hpp"

namespace tenon::converter::caffe {
namespace {

Status LowerPooling(Layer& layer) {
  const format::Pooling& given = layer.stored().pooling_param();
  TENON_ASSIGN_OR_RETURN(const TensorId x, layer.Bottom(0));
  const Shape shape = layer.ShapeOf(x);
  if (shape.rank != 4) return InputError("its input has {} dimensions, not 4", shape.rank);
  if (layer.TopCount() > 1) return InputError("the positions of maxima are not supported");
  if (given.pool() == format::Pooling::STOCHASTIC) {
    return InputError("stochastic pooling is not supported");
  }
  const uint32_t own[] = {given.kernel_h(), given.kernel_w(), given.stride_h(),
                          given.stride_w(), given.pad_h(),    given.pad_w()};
  for (const uint32_t value : own) {
    if (value > (1U << 28)) return InputError("a window of {} is out of range", value);
  }
  PoolAttributes attributes;
  for (int i = 0; i < 2; ++i) {
    attributes.kernel[i] =
        static_cast<int32_t>(given.has_kernel_h() ? own[i] : given.kernel_size());
    attributes.strides[i] =
        static_cast<int32_t>(given.has_stride_h() ? own[2 + i] : given.stride());
    attributes.pads[i] = attributes.pads[2 + i] =
        static_cast<int32_t>(given.has_pad_h() || given.has_pad_w() ? own[4 + i] : given.pad());
    if (!given.global_pooling()) continue;
    attributes.kernel[i] = shape[2 + i];
    attributes.strides[i] = 1;
    attributes.pads[i] = attributes.pads[2 + i] = 0;
  }
  attributes.ceil_mode = given.round_mode() == format::Pooling::CEIL && given.ceil_mode() ? 1 : 0;
  const bool is_max = given.pool() == format::Pooling::MAX;
  attributes.count_include_pad = is_max ? 0 : 1;
  TENON_ASSIGN_OR_RETURN(
      const TensorId y,
      layer.Emit(is_max ? OpKind::kMaxPool : OpKind::kAveragePool, {x}, Attributes(attributes)));
  return layer.SetTop(0, y);
}

constexpr LoweringRow kPoolingLowerings[] = {{"Pooling", LowerPooling, "maximum and average"}};

}  // namespace

constexpr Span<const LoweringRow> kPoolingRows = kPoolingLowerings;

}  // namespace tenon::converter::caffe
