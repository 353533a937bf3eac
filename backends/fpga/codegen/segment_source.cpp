#include "backends/fpga/codegen/segment_source.hpp"

namespace tenon::fpga {

std::vector<TensorView> ViewsOf(const SegmentSource& source) {
  std::vector<TensorView> views;
  views.reserve(source.tensors.size());
  for (const SourceTensor& tensor : source.tensors) {
    TensorView view;
    view.data = const_cast<void*>(tensor.constant);
    view.dims = tensor.shape.dims;
    view.strides = tensor.strides.data();
    view.dtype = tensor.dtype;
    view.rank = static_cast<uint8_t>(tensor.shape.rank);
    views.push_back(view);
  }
  return views;
}

OpCall CallOf(const SourceOp& op, const std::vector<TensorView>& views) {
  OpCall call;
  call.tensors = views.data();
  call.input_ids = {op.inputs.data(), op.inputs.size()};
  call.output_ids = {op.outputs.data(), op.outputs.size()};
  call.attributes = op.attributes;
  return call;
}

}  // namespace tenon::fpga
