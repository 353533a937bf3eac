#include "backends/cpu/caps/in_place_caps.hpp"

namespace tenon::cpu {

Reason InPlaceConvSupports(const OpCall& call) {
  const auto& attributes = call.AttributesAs<ConvAttributes>();
  const TensorView& x = call.Input(0);
  const TensorView& y = call.Output();
  if (attributes.strides[0] != 1 || attributes.strides[1] != 1) {
    return "a convolution works in place with steps of 1 only";
  }
  if (x.dtype != y.dtype || x.shape() != y.shape()) {
    return "a convolution works in place where its output has the input's size and dtype only";
  }
  constexpr int64_t kMostRows = 1 << 16;
  constexpr int64_t kMostOfRow = 1 << 20;
  if (y.dims[2] > kMostRows || int64_t{y.dims[1]} * y.dims[3] > kMostOfRow) {
    return "a convolution works in place on images of small rows only";
  }
  return nullptr;
}

int32_t InPlaceHeldRows(const OpCall& call) {
  const int32_t rows = call.Output().dims[2];
  const int32_t before = call.AttributesAs<ConvAttributes>().pads[0];
  return before < rows ? before : rows;
}

size_t InPlaceRowBytes(const OpCall& call) {
  const TensorView& y = call.Output();
  return static_cast<size_t>(y.dims[1]) * static_cast<size_t>(y.dims[3]) *
         static_cast<size_t>(DTypeBytes(y.dtype));
}

int32_t InPlaceNewRows(const OpCall& call) {
  constexpr int32_t kWorthAStart = 10;
  const TensorView& y = call.Output();
  if (y.dims[2] < 16 || y.dims[3] < 1) return 1;
  const int32_t wanted = (kWorthAStart + y.dims[3] - 1) / y.dims[3];
  return wanted < y.dims[2] / 8 ? wanted : y.dims[2] / 8;
}

size_t InPlaceRowsBytes(const OpCall& call, int32_t new_rows) {
  return (static_cast<size_t>(InPlaceHeldRows(call)) + static_cast<size_t>(new_rows)) *
         InPlaceRowBytes(call);
}

size_t InPlaceConvWorkspace(const OpCall& call, int) {
  return InPlaceRowsBytes(call, InPlaceNewRows(call));
}

InPlacePart::InPlacePart(const OpCall& call, int32_t image, int32_t first, int32_t count,
                         void* rows)
    : attributes_(call.AttributesAs<QuantizedConvAttributes>()) {
  const TensorView& x = call.Input(0);
  const TensorView& y = call.Output();
  const int inputs = call.InputCount() < kMostInputs ? call.InputCount() : kMostInputs;
  for (int i = 0; i < inputs; ++i) {
    ids_[i] = call.HasInput(i) ? i : -1;
    if (call.HasInput(i)) tensors_[i] = call.Input(i);
  }
  ids_[kMostInputs] = kMostInputs;
  // The rows of x that are read; `before` and `after` of them would lie outside.
  int32_t* pads = attributes_.conv.pads;
  const int32_t reach = pads[0] + pads[2];
  const int32_t low = first - pads[0];
  const int32_t high = low + count + reach;
  const int32_t begin = low < 0 ? 0 : low;
  const int32_t end = high > x.dims[2] ? x.dims[2] : high;
  pads[0] = begin - low;
  pads[2] = high - end;
  for (int i = 0; i < 4; ++i) {
    x_dims_[i] = x.dims[i];
    y_dims_[i] = y.dims[i];
  }
  x_dims_[0] = y_dims_[0] = 1;
  x_dims_[2] = end - begin;
  y_dims_[2] = count;
  y_strides_[1] = 1;
  y_strides_[3] = y.dims[1];
  y_strides_[2] = y.dims[1] * y.dims[3];
  y_strides_[0] = y_strides_[2];  // of one image: as good as any
  tensors_[0].dims = x_dims_;
  if (x.data != nullptr) {  // elements of a byte
    tensors_[0].data =
        x.As<uint8_t>() + ptrdiff_t{image} * x.strides[0] + ptrdiff_t{begin} * x.strides[2];
  }
  TensorView& output = tensors_[kMostInputs];
  output = y;
  output.data = rows;
  output.dims = y_dims_;
  output.strides = y_strides_;
  call_.tensors = tensors_;
  call_.input_ids = {ids_, static_cast<size_t>(inputs)};
  call_.output_ids = {ids_ + kMostInputs, 1};
  call_.attributes = &attributes_;
}

size_t InPlacePartsRows(const OpCall& call, int32_t new_rows) {
  return (InPlaceRowsBytes(call, new_rows) + 15) / 16 * 16;
}

size_t InPlacePartsWorkspace(const OpCall& call,
                             size_t (*workspace)(const OpCall& call, int threads)) {
  const int32_t at_once = InPlaceNewRows(call);
  const int32_t rows = call.Output().dims[2];
  size_t most = 0;
  for (int32_t first = 0; first < rows; first += at_once) {
    const InPlacePart part(call, 0, first, rows - first < at_once ? rows - first : at_once,
                           nullptr);
    const size_t bytes = workspace(part.call(), 1);
    most = bytes > most ? bytes : most;
  }
  return InPlacePartsRows(call, at_once) + most;
}

}  // namespace tenon::cpu
