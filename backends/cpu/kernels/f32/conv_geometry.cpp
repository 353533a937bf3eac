#include "backends/cpu/kernels/f32/conv_geometry.hpp"

namespace tenon::cpu::f32 {

ImageStrides StridesOf(const TensorView& view) {
  ImageStrides strides;
  strides.image = view.strides[0];
  strides.channel = view.strides[1];
  strides.row = view.strides[2];
  strides.pixel = view.strides[3];
  return strides;
}

Geometry GeometryOf(const OpCall& conv) {
  const auto& attributes = conv.AttributesAs<ConvAttributes>();
  const TensorView& x = conv.Input(0);
  const TensorView& w = conv.Input(1);
  const TensorView& y = conv.Output();
  Geometry geometry;
  geometry.images = x.dims[0];
  geometry.inputs = x.dims[1];
  geometry.height = x.dims[2];
  geometry.width = x.dims[3];
  geometry.outputs = y.dims[1];
  geometry.out_height = y.dims[2];
  geometry.out_width = y.dims[3];
  geometry.kernel_height = w.dims[2];
  geometry.kernel_width = w.dims[3];
  geometry.convolutions = attributes.group;
  for (int i = 0; i < 2; ++i) {
    geometry.stride[i] = attributes.strides[i];
    geometry.dilation[i] = attributes.dilations[i];
    geometry.pad[i] = attributes.pads[i];
  }
  geometry.x = StridesOf(x);
  geometry.y = StridesOf(y);
  if (conv.HasInput(3)) geometry.residual = StridesOf(conv.Input(3));
  return geometry;
}

bool HasEvenPixels(const TensorView& view, int64_t* step) {
  constexpr int kOrder[3] = {3, 2, 0};
  int64_t pixels = 1;
  *step = 0;
  for (const int axis : kOrder) {
    const int64_t stride = view.strides[axis];
    if (view.dims[axis] != 1) {
      if (pixels == 1) *step = stride;
      if (stride != *step * pixels) return false;
    }
    pixels *= view.dims[axis];
  }
  return true;
}

}  // namespace tenon::cpu::f32
