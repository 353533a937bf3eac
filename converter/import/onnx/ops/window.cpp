#include "converter/import/onnx/ops/window.hpp"

#include <algorithm>
#include <limits>
#include <string>

namespace tenon::converter {
namespace {

Status CheckValues(std::string_view what, const std::vector<int64_t>& values, size_t count,
                   int64_t smallest) {
  if (values.size() != count) {
    return InputError("{} has {} values, {} are wanted", what, values.size(), count);
  }
  for (int64_t value : values) {
    if (value < smallest || value > std::numeric_limits<int32_t>::max()) {
      return InputError("{} has the value {}, out of range", what, value);
    }
  }
  return {};
}

std::vector<int64_t> IntsOr(Lowering& node, std::string_view attribute, size_t count,
                            int64_t value) {
  std::vector<int64_t> values = node.Ints(attribute);
  if (values.empty()) values.assign(count, value);
  return values;
}

/// Padding before and after one dimension so that ceil(input / stride) windows fit.
std::pair<int64_t, int64_t> SamePads(int64_t input, int64_t kernel, int64_t stride,
                                     int64_t dilation, bool upper) {
  const int64_t output = (input + stride - 1) / stride;
  const int64_t extent = (kernel - 1) * dilation + 1;
  const int64_t total = std::max<int64_t>(0, (output - 1) * stride + extent - input);
  const int64_t smaller = total / 2;
  return upper ? std::pair(smaller, total - smaller) : std::pair(total - smaller, smaller);
}

}  // namespace

Result<std::vector<WindowSpan>> ReadSpans(Lowering& node, const Shape& x,
                                          const std::vector<int64_t>& kernel) {
  if (x.rank < 3) return InputError("its input has {} dimensions, no spatial one", x.rank);
  const auto count = static_cast<size_t>(x.rank - 2);
  const std::vector<int64_t> strides = IntsOr(node, "strides", count, 1);
  const std::vector<int64_t> dilations = IntsOr(node, "dilations", count, 1);
  std::vector<int64_t> pads = IntsOr(node, "pads", 2 * count, 0);
  TENON_RETURN_IF_ERROR(CheckValues("kernel_shape", kernel, count, 1));
  TENON_RETURN_IF_ERROR(CheckValues("strides", strides, count, 1));
  TENON_RETURN_IF_ERROR(CheckValues("dilations", dilations, count, 1));
  TENON_RETURN_IF_ERROR(CheckValues("pads", pads, 2 * count, 0));

  const std::string auto_pad = node.Text("auto_pad", "NOTSET");
  if (auto_pad == "VALID") {
    std::fill(pads.begin(), pads.end(), 0);
  } else if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    for (size_t i = 0; i < count; ++i) {
      std::tie(pads[i], pads[count + i]) =
          SamePads(x[static_cast<int32_t>(i) + 2], kernel[i], strides[i], dilations[i],
                   auto_pad == "SAME_UPPER");
    }
    TENON_RETURN_IF_ERROR(CheckValues("auto_pad", pads, 2 * count, 0));
  } else if (auto_pad != "NOTSET") {
    return InputError("auto_pad '{}' is not known", auto_pad);
  }
  std::vector<WindowSpan> spans;
  for (size_t i = 0; i < count; ++i) {
    const auto value = [&](const std::vector<int64_t>& of, size_t at) {
      return static_cast<int32_t>(of[at]);
    };
    spans.push_back({value(kernel, i), value(strides, i), value(dilations, i), value(pads, i),
                     value(pads, count + i)});
  }
  return spans;
}

Window WindowOf(const WindowSpan& height, const WindowSpan& width) {
  Window window;
  const WindowSpan* spans[] = {&height, &width};
  for (int i = 0; i < 2; ++i) {
    window.kernel[i] = spans[i]->kernel;
    window.strides[i] = spans[i]->stride;
    window.dilations[i] = spans[i]->dilation;
    window.pads[i] = spans[i]->begin;
    window.pads[2 + i] = spans[i]->end;
  }
  return window;
}

Result<Window> ReadWindow(Lowering& node, const Shape& x, const std::vector<int64_t>& kernel) {
  if (x.rank != 3 && x.rank != 4) {
    return InputError("its input has {} dimensions; only one or two spatial ones are supported",
                      x.rank);
  }
  TENON_ASSIGN_OR_RETURN(const std::vector<WindowSpan> spans, ReadSpans(node, x, kernel));
  constexpr WindowSpan kNoHeight = {1, 1, 1, 0, 0};
  return spans.size() == 1 ? WindowOf(kNoHeight, spans[0]) : WindowOf(spans[0], spans[1]);
}

Result<TensorId> WithHeight(Lowering& node, TensorId x) {
  const Shape shape = node.ShapeOf(x);
  if (shape.rank != 3) return x;
  return node.Reshape(x, {shape[0], shape[1], 1, shape[2]});
}

Result<TensorId> EmitWindowed(Lowering& node, OpKind kind, const std::vector<TensorId>& inputs,
                              const Attributes& attributes, bool one_dimensional, int output) {
  if (!one_dimensional) return node.Emit(kind, inputs, attributes, output);
  TENON_ASSIGN_OR_RETURN(const TensorId y, node.Emit(kind, inputs, attributes));
  const Shape shape = node.ShapeOf(y);
  return node.Reshape(y, {shape[0], shape[1], shape[3]}, output);
}

}  // namespace tenon::converter
