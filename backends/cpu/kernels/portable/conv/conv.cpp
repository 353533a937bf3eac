#include <cstddef>
#include <cstdint>

#include "backends/cpu/caps/portable_supports.hpp"
#include "backends/cpu/kernels/in_place_rows.hpp"
#include "backends/cpu/kernels/portable/gemm/tile_gemm.hpp"
#include "backends/cpu/kernels/portable/kernels.hpp"

namespace tenon::cpu::portable {
namespace {

/// A convolution as one tile product per image and group.
struct Conv {
  TileProduct product;  ///< of image 0, group 0
  int images;
  int groups;
  ptrdiff_t x_image;
  ptrdiff_t x_group;
  ptrdiff_t y_image;
  ptrdiff_t y_group;
  ptrdiff_t residual_image;
  ptrdiff_t residual_group;
};

/// True if rows follow each other without a gap, so that all can be taken as one.
bool RowsMerge(const TensorView& view) {
  return view.dims[2] == 1 || view.strides[2] == int64_t{view.dims[3]} * view.strides[3];
}

void MergeRows(TileProduct& product) {
  const int positions = product.out_extent[0] * product.out_extent[1];
  product.in_extent[0] = product.out_extent[0] = 1;
  product.in_extent[1] = product.out_extent[1] = positions;
}

/// A 1x1 convolution without steps or padding sees positions only, not rows: longer tiles.
bool IsPointwise(const ConvAttributes& attributes, const TensorView& w) {
  const int32_t* pads = attributes.pads;
  return w.dims[2] == 1 && w.dims[3] == 1 && attributes.strides[0] == 1 &&
         attributes.strides[1] == 1 && pads[0] == 0 && pads[1] == 0 && pads[2] == 0 && pads[3] == 0;
}

void SetOperands(const OpCall& call, TileProduct& product) {
  const TensorView& x = call.Input(0);
  const TensorView& w = call.Input(1);
  const TensorView& y = call.Output();
  if (call.HasInput(5)) {
    product.x_bytes = x.As<const uint8_t>();
    product.x_mean = call.Input(5).As<const float>();
    product.x_mean_channel = call.Input(5).strides[0];
  } else {
    product.x = x.As<const float>();
  }
  product.x_channel = x.strides[1];
  product.x_row = x.strides[2];
  product.x_column = x.strides[3];
  product.w = StoredWeightsOf(call, 1, 4);
  product.w_output = w.strides[0];
  product.w_channel = w.strides[1];
  product.w_row = w.strides[2];
  product.w_column = w.strides[3];
  product.y = y.As<float>();
  product.y_output = y.strides[1];
  product.y_row = y.strides[2];
  product.y_column = y.strides[3];
  if (call.HasInput(2)) {
    product.addends[0] = {call.Input(2).As<const float>(), call.Input(2).strides[0], 0, 0};
  }
  if (call.HasInput(3)) {
    const TensorView& residual = call.Input(3);
    product.addends[1] = {residual.As<const float>(), residual.strides[1], residual.strides[2],
                          residual.strides[3]};
  }
}

/// `by_rows`: rows are to be computed some at a time.
Conv Prepare(const OpCall& call, bool by_rows) {
  const auto& attributes = call.AttributesAs<ConvAttributes>();
  const TensorView& x = call.Input(0);
  const TensorView& w = call.Input(1);
  const TensorView& y = call.Output();
  Conv conv = {};
  TileProduct& product = conv.product;
  SetOperands(call, product);
  product.activation = attributes.activation;
  for (int i = 0; i < 2; ++i) {
    product.in_extent[i] = x.dims[2 + i];
    product.out_extent[i] = y.dims[2 + i];
    product.kernel[i] = w.dims[2 + i];
    product.strides[i] = attributes.strides[i];
    product.dilations[i] = attributes.dilations[i];
    product.pads[i] = attributes.pads[i];
  }
  const bool has_residual = call.HasInput(3);
  const bool merges = RowsMerge(x) && RowsMerge(y) && (!has_residual || RowsMerge(call.Input(3)));
  if (merges && !by_rows && IsPointwise(attributes, w)) MergeRows(product);

  // One input and one output per group: groups become the lanes of one product.
  product.depthwise = attributes.group > 1 && w.dims[1] == 1 && w.dims[0] == attributes.group;
  product.channels = w.dims[1];
  conv.images = x.dims[0];
  conv.groups = product.depthwise ? 1 : attributes.group;
  product.outputs = w.dims[0] / conv.groups;
  conv.x_image = x.strides[0];
  conv.x_group = product.channels * product.x_channel;
  conv.y_image = y.strides[0];
  conv.y_group = product.outputs * product.y_output;
  if (has_residual) {
    conv.residual_image = call.Input(3).strides[0];
    conv.residual_group = product.outputs * product.addends[1].output;
  }
  return conv;
}

TileProduct ProductOf(const Conv& conv, int image, int group) {
  TileProduct product = conv.product;
  const ptrdiff_t x_offset = image * conv.x_image + group * conv.x_group;
  if (product.x_bytes != nullptr) {
    product.x_bytes += x_offset;
    product.x_mean += group * product.channels * product.x_mean_channel;
  } else {
    product.x += x_offset;
  }
  product.first_scale = ptrdiff_t{group} * product.outputs;
  product.w_first = product.first_scale * product.w_output;
  product.y += image * conv.y_image + group * conv.y_group;
  if (product.addends[0].data != nullptr) {
    product.addends[0].data += group * product.outputs * product.addends[0].output;
  }
  if (product.addends[1].data != nullptr) {
    product.addends[1].data += image * conv.residual_image + group * conv.residual_group;
  }
  return product;
}

/// Of `images` images from `first` on.
void RunProducts(const KernelCall& call, const Conv& conv, int first, int images) {
  const int tasks = TileTasks(conv.product);
  ParallelFor(call.parallel, images * conv.groups * tasks, [&](int begin, int end) {
    while (begin < end) {
      const int part = begin / tasks;
      const TileProduct product = ProductOf(conv, first + part / conv.groups, part % conv.groups);
      const int part_end = (part + 1) * tasks < end ? (part + 1) * tasks : end;
      for (; begin < part_end; ++begin) RunTileTask(product, begin - part * tasks);
    }
  });
}

}  // namespace

Status ConvCheck(const KernelSetup& setup) { return CheckResult(ConvSupports(setup.op)); }

Status ConvRun(const KernelCall& call) {
  if (call.op.Output().Elements() == 0) return OkStatus();
  const Conv conv = Prepare(call.op, /*by_rows=*/false);
  RunProducts(call, conv, 0, conv.images);
  return OkStatus();
}

Status ConvInPlaceCheck(const KernelSetup& setup) {
  TENON_RETURN_IF_ERROR(ConvCheck(setup));
  TENON_RETURN_IF_ERROR(CheckResult(InPlaceConvSupports(setup.op)));
  return CheckInPlaceWorkspace(setup);
}

Status ConvInPlaceRun(const KernelCall& call) {
  const TensorView& y = call.op.Output();
  if (y.Elements() == 0) return OkStatus();
  const Conv whole = Prepare(call.op, /*by_rows=*/true);
  Conv conv = whole;
  conv.y_image = 0;  // rows go to the workspace
  conv.product.y_output = 1;
  conv.y_group = conv.product.outputs;
  conv.product.y_column = y.dims[1];
  conv.product.y_row = static_cast<ptrdiff_t>(y.dims[1]) * y.dims[3];
  InPlaceRows rows(call);
  for (int image = 0; image < conv.images; ++image) {
    for (int first = 0; first < y.dims[2];) {
      const int left = y.dims[2] - first;
      const int count = left < rows.RowsAtOnce() ? left : rows.RowsAtOnce();
      conv.product.y = reinterpret_cast<float*>(rows.New());
      conv.product.pads[0] = whole.product.pads[0] - first;
      conv.product.out_extent[0] = count;
      if (Addend& residual = conv.product.addends[1]; residual.data != nullptr) {
        residual.data = whole.product.addends[1].data + first * residual.row;
      }
      RunProducts(call, conv, image, 1);
      rows.Store(image, count);
      first += count;
    }
  }
  return OkStatus();
}

}  // namespace tenon::cpu::portable
