#include <cstddef>
#include <cstdint>

#include "backends/cpu/caps/portable_supports.hpp"
#include "backends/cpu/kernels/in_place_rows.hpp"
#include "backends/cpu/kernels/portable/gemm/quantized_operands.hpp"
#include "backends/cpu/kernels/portable/kernels.hpp"

namespace tenon::cpu::portable {
namespace {

/// A convolution as one product per image and group.
struct Conv {
  QuantizedProduct product;  ///< of image 0, group 0
  int images;
  int groups;
  int group_channels;  ///< of x
  ptrdiff_t x_image;
  ptrdiff_t y_image;
};

Conv Prepare(const OpCall& call) {
  const auto& attributes = call.AttributesAs<QuantizedConvAttributes>();
  const ConvAttributes& conv_attributes = attributes.conv;
  const TensorView& x = call.Input(0);
  const TensorView& w = call.Input(1);
  const TensorView& y = call.Output();
  Conv conv = {};
  QuantizedProduct& product = conv.product;
  SetQuantizedOperands(call, attributes.output, product);
  product.x_channel = x.strides[1];
  product.x_row = x.strides[2];
  product.x_column = x.strides[3];
  product.w_output = w.strides[0];
  product.w_channel = w.strides[1];
  product.w_row = w.strides[2];
  product.w_column = w.strides[3];
  product.y_output = y.strides[1];
  product.y_row = y.strides[2];
  product.y_column = y.strides[3];
  for (int i = 0; i < 2; ++i) {
    product.in_extent[i] = x.dims[2 + i];
    product.out_extent[i] = y.dims[2 + i];
    product.kernel[i] = w.dims[2 + i];
    product.strides[i] = conv_attributes.strides[i];
    product.dilations[i] = conv_attributes.dilations[i];
    product.pads[i] = conv_attributes.pads[i];
  }
  // One input and one output per group: groups become the lanes of one product.
  const int group = conv_attributes.group;
  product.depthwise = group > 1 && w.dims[1] == 1 && w.dims[0] == group;
  product.channels = w.dims[1];
  conv.images = x.dims[0];
  conv.groups = product.depthwise ? 1 : group;
  conv.group_channels = w.dims[1];
  product.outputs = w.dims[0] / conv.groups;
  conv.x_image = x.strides[0];
  conv.y_image = y.strides[0];
  return conv;
}

QuantizedProduct ProductOf(const Conv& conv, int image, int group) {
  QuantizedProduct product = conv.product;
  const int outputs = group * product.outputs;
  const int channels = group * conv.group_channels;
  product.x += image * conv.x_image + channels * product.x_channel;
  product.w += outputs * product.w_output;
  MoveOutput(product, image * conv.y_image + outputs * product.y_output);
  product.x_zero_point.Skip(channels);
  SkipOutputs(product, outputs);
  return product;
}

/// Of `images` images from `first` on.
void RunProducts(const KernelCall& call, const Conv& conv, int first, int images) {
  const int tasks = QuantizedTasks(conv.product);
  ParallelFor(call.parallel, images * conv.groups * tasks, [&](int begin, int end) {
    while (begin < end) {
      const int part = begin / tasks;
      const QuantizedProduct product =
          ProductOf(conv, first + part / conv.groups, part % conv.groups);
      const int part_end = (part + 1) * tasks < end ? (part + 1) * tasks : end;
      for (; begin < part_end; ++begin) RunQuantizedTask(product, begin - part * tasks);
    }
  });
}

}  // namespace

Status QuantizedConvCheck(const KernelSetup& setup) {
  return CheckResult(QuantizedSupports(setup.op));
}

Status QuantizedConvRun(const KernelCall& call) {
  if (call.op.Output().Elements() == 0) return OkStatus();
  const Conv conv = Prepare(call.op);
  RunProducts(call, conv, 0, conv.images);
  return OkStatus();
}

Status QuantizedConvInPlaceCheck(const KernelSetup& setup) {
  TENON_RETURN_IF_ERROR(CheckResult(InPlaceConvSupports(setup.op)));
  return CheckInPlaceWorkspace(setup);
}

Status QuantizedConvInPlaceRun(const KernelCall& call) {
  const TensorView& y = call.op.Output();
  if (y.Elements() == 0) return OkStatus();
  Conv conv = Prepare(call.op);
  conv.y_image = 0;  // rows go to the workspace
  conv.product.y_output = 1;
  conv.product.y_column = y.dims[1];
  conv.product.y_row = static_cast<ptrdiff_t>(y.dims[1]) * y.dims[3];
  InPlaceRows rows(call);
  for (int image = 0; image < conv.images; ++image) {
    for (int first = 0; first < y.dims[2];) {
      const int left = y.dims[2] - first;
      const int count = left < rows.RowsAtOnce() ? left : rows.RowsAtOnce();
      conv.product.y = rows.New();
      conv.product.pads[0] = call.op.AttributesAs<QuantizedConvAttributes>().conv.pads[0] - first;
      conv.product.out_extent[0] = count;
      RunProducts(call, conv, image, 1);
      rows.Store(image, count);
      first += count;
    }
  }
  return OkStatus();
}

}  // namespace tenon::cpu::portable
