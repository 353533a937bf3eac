// Computes a convolution as one GEMM for each image and group, in floats or bytes.
#pragma once

#include "backends/cpu/kernels/in_place_rows.hpp"
#include "backends/cpu/kernels/portable/gemm/gemm_shape.hpp"

namespace tenon::cpu::portable {

template <typename Gemm>
struct ConvGemm {
  Gemm gemm;  ///< of image 0, group 0
  int images = 0;
  int groups = 0;
  ptrdiff_t x_image = 0;
  ptrdiff_t y_image = 0;
  ptrdiff_t residual_image = 0;

  explicit ConvGemm(const OpCall& call) {
    SetConvShape(call, gemm);
    images = call.Input(0).dims[0];
    groups = gemm.depthwise ? 1 : call.AttributesAs<ConvAttributes>().group;
    x_image = call.Input(0).strides[0];
    y_image = call.Output().strides[0];
  }
};

/// Of `images` images from `first` on. kGemmOf(conv, image, group) gives the GEMM of one.
template <auto kGemmOf, typename Gemm>
void RunConvGemms(const KernelCall& call, const ConvGemm<Gemm>& conv, int first, int images) {
  RunGemms(call.parallel, images * conv.groups, GemmTasks(conv.gemm),
           [&](int part) { return kGemmOf(conv, first + part / conv.groups, part % conv.groups); });
}

/// Runs it over its input, through a workspace. `start(row, y)` sets where the rows from `row` on
/// go and what else differs for them, except the window of the GEMM.
template <auto kGemmOf, typename Gemm, typename Start>
void RunConvInPlace(const KernelCall& call, ConvGemm<Gemm>& conv, const Start& start) {
  const TensorView& y = call.op.Output();
  const int top = conv.gemm.pads[0];
  conv.y_image = 0;  // rows go to the workspace
  conv.gemm.y_output = 1;
  conv.gemm.y_column = y.dims[1];
  conv.gemm.y_row = static_cast<ptrdiff_t>(y.dims[1]) * y.dims[3];
  InPlaceRows rows(call);
  for (int image = 0; image < conv.images; ++image) {
    for (int first = 0; first < y.dims[2];) {
      const int left = y.dims[2] - first;
      const int count = left < rows.RowsAtOnce() ? left : rows.RowsAtOnce();
      conv.gemm.pads[0] = top - first;
      conv.gemm.out_extent[0] = count;
      start(first, rows.New());
      RunConvGemms<kGemmOf>(call, conv, image, 1);
      rows.Store(image, count);
      first += count;
    }
  }
}

}  // namespace tenon::cpu::portable
