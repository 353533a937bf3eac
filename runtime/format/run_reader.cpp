#include "runtime/format/run_reader.hpp"

#include <plan_generated.h>

#include "runtime/format/table_fields.hpp"

namespace tenon {

using format::Fields;
using format::StorageWords;
using format::TableAt;
using format::Vector;

void RunReader::Open() {
  using plan::Program;
  tensors_ = Vector(program.table_, Program::VT_TENSORS);
  storages_ = Vector(program.table_, Program::VT_STORAGES);
}

// Of offsets the lower half is all: the plan check has proven that they are below the sizes of
// memories, which firmware counts in 32 bits.
uint8_t* RunReader::PlaceOf(uint32_t storage) const {
  for (const BoundStorage& bound : memory.bound) {
    if (bound.storage == storage && bound.data != nullptr) return bound.data;
  }
  const StorageWords& planned = reinterpret_cast<const StorageWords*>(storages_)[storage];
  uint8_t* const* const home = memory.homes[planned.home];
  return home != nullptr ? home[planned.index] + planned.offset[0] : nullptr;
}

Span<uint8_t> RunReader::Read(size_t op, OpCall* call) const {
  const OpOperands operands = program.op_operands(op);
  const size_t inputs = operands.inputs.size();
  const size_t outputs = operands.outputs.size();
  *call = {
      room.views, {room.ids, inputs}, {room.ids + inputs, outputs}, operands.attributes.data()};
  Describe(operands.inputs.data(), inputs, 0);
  Describe(operands.outputs.data(), outputs, inputs);
  if (operands.workspace < 0) return {};
  Describe(&operands.workspace, 1, inputs + outputs);
  const TensorView& view = room.views[inputs + outputs];
  size_t bytes = 1;
  for (int i = 0; i < view.rank; ++i) bytes *= static_cast<size_t>(view.dims[i]);
  return {view.As<uint8_t>(), bytes};
}

void RunReader::Describe(const int32_t* tensors, size_t count, size_t place) const {
  using plan::Tensor;
  TensorView* view = room.views + place;
  int32_t* id = room.ids + place;
  for (const int32_t* const end = tensors + count; tensors != end; ++view) {
    const int32_t index = *tensors++;
    *id++ = index < 0 ? index : static_cast<int32_t>(place);
    ++place;
    if (index < 0) continue;
    const Fields tensor(TableAt(tensors_, static_cast<size_t>(index)));
    uint8_t* data = PlaceOf(tensor.Number<uint32_t>(Tensor::VT_STORAGE));
    if (data != nullptr) data += tensor.Number<uint32_t>(Tensor::VT_OFFSET);
    const int32_t* const dims = tensor.Words(Tensor::VT_DIMS);
    *view = {data, dims, tensor.Words(Tensor::VT_STRIDES),
             static_cast<DType>(tensor.Number<uint8_t>(Tensor::VT_DTYPE)),
             static_cast<uint8_t>(dims[-1])};
  }
}

}  // namespace tenon
