#include "backends/cpu/caps/in_place_caps.hpp"

#include "backends/cpu/caps/portable_supports.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu {
namespace {

Reason FloatConvSupports(const OpCall& call) {
  if (const Reason reason = portable::ConvSupports(call)) return reason;
  return InPlaceConvSupports(call);
}

constexpr uint32_t kInput = 1U << 0;

constexpr KernelCaps InPlaceRow(const char* id, OpKind kind,
                                Reason (*supports)(const OpCall&)) {
  return {id,      kind,    supports, LayoutNeed::kAny, InPlaceConvWorkspace,
          nullptr, nullptr, {},       nullptr,          kInput};
}

constexpr KernelCaps kCaps[] = {
    InPlaceRow("cpu.conv.portable_in_place", OpKind::kConv, FloatConvSupports),
    InPlaceRow("cpu.quantized_conv.portable_in_place", OpKind::kQuantizedConv, InPlaceConvSupports),
};

}  // namespace

Span<const KernelCaps> InPlaceCaps() { return kCaps; }

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

size_t InPlaceConvWorkspace(const OpCall& call, int) {
  return (static_cast<size_t>(InPlaceHeldRows(call)) + 1) * InPlaceRowBytes(call);
}

}  // namespace tenon::cpu
