#include "converter/import/tflite/node.hpp"

#include <algorithm>
#include <limits>

#include "converter/import/import_graph.hpp"
#include "converter/import/tflite/model_file.hpp"
#include "converter/ir/elements.hpp"
#include "converter/ir/shapes.hpp"
#include "runtime/ops/host/op_table.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

constexpr int32_t kAbsent = -1;

bool IsByte(DType dtype) { return dtype == DType::kI8 || dtype == DType::kU8; }

/// Operators that TFLite has kernels of floats times bytes for. These read the bytes of u8 as i8
/// and no zero point: so the first converters with weights of bytes wrote them.
bool ReadsBytesAsSigned(format::BuiltinOperator op) {
  using Op = format::BuiltinOperator;
  switch (op) {
    case Op::BIDIRECTIONAL_SEQUENCE_LSTM:
    case Op::BIDIRECTIONAL_SEQUENCE_RNN:
    case Op::CONV_2D:
    case Op::EMBEDDING_LOOKUP:
    case Op::FULLY_CONNECTED:
    case Op::RNN:
    case Op::SVDF:
    case Op::UNIDIRECTIONAL_SEQUENCE_LSTM:
    case Op::UNIDIRECTIONAL_SEQUENCE_RNN:
      return true;
    default:
      return false;
  }
}

}  // namespace

Node::Node(Importer& importer, const format::Operator& node, format::BuiltinOperator op)
    : importer_(importer), node_(node), op_(op), name_(importer.NameOf(node.outputs()->Get(0))) {}

// --- operands
// -------------------------------------------------------------------------------------

int Node::InputCount() const {
  return node_.inputs() == nullptr ? 0 : static_cast<int>(node_.inputs()->size());
}

int Node::OutputCount() const { return static_cast<int>(node_.outputs()->size()); }

int32_t Node::InputTensor(int index) const {
  return index < InputCount() ? node_.inputs()->Get(static_cast<uint32_t>(index)) : kAbsent;
}

bool Node::HasInput(int index) const { return InputTensor(index) != kAbsent; }

Result<TensorId> Node::Input(int index, Order order) {
  if (!HasInput(index)) return InputError("input {} is missing", index);
  TENON_ASSIGN_OR_RETURN(TensorId id, importer_.Value(InputTensor(index), order));
  if (!in_floats_) return id;
  TENON_ASSIGN_OR_RETURN(Quantization quantization, InputQuantization(index));
  if (quantization.IsNone()) return id;
  if (!quantization.IsPerTensor()) quantization.axis = AxisIn(order, quantization.axis);
  const Tensor tensor = graph().tensor(id);
  TENON_ASSIGN_OR_RETURN(const DType output, OutputDType(0));
  if (tensor.dtype == DType::kU8 && tensor.IsConstant() && IsFloat(output) &&
      ReadsBytesAsSigned(op_)) {
    id = graph().AddConstant(tensor.name + "/signed", DType::kI8, tensor.shape, *tensor.constant);
    std::fill(quantization.zero_points.begin(), quantization.zero_points.end(), 0);
  }
  return Dequantize(id, quantization);
}

Order Node::OrderOf(int index) const {
  return HasInput(index) ? importer_.OrderOf(InputTensor(index)) : Order::kModel;
}

Result<TensorId> Node::WithRank4(TensorId x) {
  const Shape shape = ShapeOf(x);
  std::vector<int64_t> dims(4, 1);
  std::copy(shape.dims, shape.dims + shape.rank, dims.end() - shape.rank);
  return Reshape(x, dims);
}

Result<Operands> Node::Aligned(const std::vector<int>& inputs) {
  Operands operands;
  bool fits = true;
  for (const int index : inputs) {
    if (OrderOf(index) == Order::kChannelsFirst) operands.order = Order::kChannelsFirst;
    if (OrderOf(index) == Order::kChannelsFirst) continue;
    TENON_ASSIGN_OR_RETURN(const TensorId x, Input(index));
    fits &= ShapeOf(x).rank <= 4;
  }
  if (!fits) operands.order = Order::kModel;
  for (const int index : inputs) {
    if (operands.order == Order::kModel || OrderOf(index) == Order::kChannelsFirst) {
      TENON_ASSIGN_OR_RETURN(const TensorId x, Input(index, operands.order));
      operands.ids.push_back(x);
      continue;
    }
    TENON_ASSIGN_OR_RETURN(TensorId x, Input(index));
    if (ShapeOf(x).rank == 4) {
      TENON_ASSIGN_OR_RETURN(x, Input(index, operands.order));
    } else if (ShapeOf(x).Elements() != 1) {
      TENON_ASSIGN_OR_RETURN(x, WithRank4(x));
      TENON_ASSIGN_OR_RETURN(x, Transpose(x, {0, 3, 1, 2}));
    }
    operands.ids.push_back(x);
  }
  return operands;
}

Shape Node::ShapeOf(TensorId id) { return graph().tensor(id).shape; }
DType Node::DTypeOf(TensorId id) { return graph().tensor(id).dtype; }

Result<DType> Node::InputDType(int index) const {
  if (!HasInput(index)) return InputError("input {} is missing", index);
  return importer_.DTypeOf(InputTensor(index));
}

Result<DType> Node::OutputDType(int index) const {
  return importer_.DTypeOf(node_.outputs()->Get(static_cast<uint32_t>(index)));
}

Result<int32_t> Node::Axis(int64_t axis, int32_t rank) const {
  if (axis < -rank || axis >= rank) {
    return InputError("axis {} is out of range for {} dimensions", axis, rank);
  }
  return static_cast<int32_t>(axis < 0 ? axis + rank : axis);
}

const format::OperatorCode& Node::code() const {
  return *importer_.model().operator_codes()->Get(node_.opcode_index());
}

Result<TensorId> Node::Kept(int index) {
  if (!HasInput(index)) return InputError("input {} is missing", index);
  return importer_.variables().Kept(InputTensor(index));
}

Status Node::Keep(int index, TensorId value) {
  return importer_.variables().Keep(InputTensor(index), value);
}

// --- constants
// ------------------------------------------------------------------------------------

bool Node::IsConstant(int index) {
  if (!HasInput(index) || OrderOf(index) == Order::kChannelsFirst) return false;
  const auto id = importer_.Value(InputTensor(index), Order::kModel);
  return id.ok() && graph().tensor(*id).IsConstant();
}

Result<std::vector<int64_t>> Node::Ints(int index) {
  TENON_ASSIGN_OR_RETURN(const TensorId id, Input(index));
  if (IsFloat(DTypeOf(id))) {
    return InputError("input {} must hold integers, not {}", index, DTypeName(DTypeOf(id)));
  }
  TENON_RETURN_IF_ERROR(RequireConstant(id));
  const Tensor& constant = graph().tensor(id);
  const auto size = static_cast<size_t>(DTypeBytes(constant.dtype));
  std::vector<int64_t> values(constant.constant->size() / size);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = ReadInteger(constant.dtype, constant.constant->data() + i * size);
  }
  return values;
}

Result<std::vector<double>> Node::Doubles(int index) {
  TENON_ASSIGN_OR_RETURN(const TensorId id, Input(index));
  TENON_RETURN_IF_ERROR(RequireConstant(id));
  return ReadElements(graph().tensor(id));
}

TensorId Node::Constant(std::string_view hint, DType dtype, const Shape& shape,
                        const std::vector<double>& values) {
  return graph().AddConstant(fmt::format("{}/{}", name_, hint), dtype, shape,
                             WriteElements(dtype, values));
}

TensorId Node::Scalar(std::string_view hint, DType dtype, double value) {
  return Constant(hint, dtype, Shape(), {value});
}

Result<TensorId> Node::Counted(std::string_view hint, DType dtype, int64_t count, int32_t axis,
                               int32_t rank, int64_t step) {
  std::vector<int64_t> dims(static_cast<size_t>(rank), 1);
  dims[static_cast<size_t>(axis)] = count;
  TENON_ASSIGN_OR_RETURN(const Shape shape, ShapeFromDims(dims));
  TENON_RETURN_IF_ERROR(CheckRoomFor(count));
  std::vector<double> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>(static_cast<int64_t>(i) * step);
  }
  return Constant(hint, dtype, shape, values);
}

Status Node::CheckRoomFor(int64_t numbers) {
  constexpr int64_t kMost = int64_t{1} << 48;  // so that bytes do not overflow
  return CheckConstantLimit(graph(), std::min(numbers, kMost) * int64_t{sizeof(double)}, name_);
}

const format::SubGraph* Node::GraphAt(int32_t graph) const {
  const auto* graphs = importer_.model().subgraphs();
  const bool known = graph >= 0 && static_cast<uint32_t>(graph) < graphs->size();
  return known ? graphs->Get(static_cast<uint32_t>(graph)) : nullptr;
}

format::BuiltinOperator Node::OperatorOf(const format::Operator& node) const {
  return tflite::OperatorOf(*importer_.model().operator_codes()->Get(node.opcode_index()));
}

// --- quantization
// ---------------------------------------------------------------------------------

Result<Quantization> Node::InputQuantization(int index) const {
  if (!HasInput(index)) return Quantization();
  return importer_.QuantizationOf(InputTensor(index));
}

Result<Quantization> Node::OutputQuantization(int index) const {
  return importer_.QuantizationOf(node_.outputs()->Get(static_cast<uint32_t>(index)));
}

Result<Quantization> Node::Intermediate(int index) const {
  const auto* tensors = node_.intermediates();
  const auto at = static_cast<uint32_t>(index);
  if (tensors == nullptr || at >= tensors->size()) {
    return InputError("it does not say how it quantizes what it computes inside");
  }
  return importer_.QuantizationOf(tensors->Get(at));
}

bool Node::ReadsComplex() const { return HasInput(0) && importer_.IsComplex(InputTensor(0)); }

bool Node::HasComplex() const {
  for (int i = 0; i < InputCount(); ++i) {
    if (HasInput(i) && importer_.IsComplex(InputTensor(i))) return true;
  }
  return node_.outputs() != nullptr &&
         std::any_of(node_.outputs()->begin(), node_.outputs()->end(),
                     [&](int32_t output) { return importer_.IsComplex(output); });
}

Result<QuantizedOperands> Node::Quantized() const {
  QuantizedOperands found;
  const auto look = [&](int32_t tensor) -> Status {
    TENON_ASSIGN_OR_RETURN(const DType dtype, importer_.DTypeOf(tensor));
    TENON_ASSIGN_OR_RETURN(const Quantization quantization, importer_.QuantizationOf(tensor));
    found.bytes |= IsByte(dtype) && !quantization.IsNone();
    found.words |= dtype == DType::kI16 && !quantization.IsNone();
    return {};
  };
  for (int i = 0; i < InputCount(); ++i) {
    if (!HasInput(i)) continue;
    TENON_RETURN_IF_ERROR(look(InputTensor(i)));
  }
  for (const int32_t output : *node_.outputs()) {
    TENON_RETURN_IF_ERROR(look(output));
  }
  return found;
}

// --- emitting
// -------------------------------------------------------------------------------------

Result<TensorId> Node::Emit(OpKind kind, const std::vector<TensorId>& inputs,
                            const Attributes& attributes) {
  const std::string name = fmt::format("{}/{}", name_, GetOpRow(kind).name);
  auto made = graph().AddOpTensor(kind, name, inputs, attributes, name);
  if (!made.ok()) {
    Error error = made.error();
    error.kind = ErrorKind::kInput;  // the shape rule refuses what the model asks for
    return error;
  }
  // Tensors' names are unique; so are ops' then.
  const OpId op = graph().tensor(*made).producer;
  graph().MutableOp(op).name = graph().tensor(*made).name;
  return made;
}

Status Node::SetOutput(int index, TensorId id, Order order) {
  if (index >= OutputCount()) return InputError("it has {} outputs, too few", OutputCount());
  const int32_t output = node_.outputs()->Get(static_cast<uint32_t>(index));
  TENON_ASSIGN_OR_RETURN(const DType dtype, importer_.DTypeOf(output));
  if (in_floats_ && dtype != DTypeOf(id)) {
    TENON_ASSIGN_OR_RETURN(const Quantization quantization, OutputQuantization(index));
    if (!quantization.IsNone()) {
      TENON_ASSIGN_OR_RETURN(id, Quantize(id, dtype, quantization));
    }
  }
  if (DTypeOf(id) != dtype) {
    return InputError("output {} is {} in the file, but {} by the operator", index,
                      DTypeName(dtype), DTypeName(DTypeOf(id)));
  }
  NameOutput(output, id);
  importer_.Bind(output, id, order);
  return {};
}

Status Node::SetComplexOutput(int index, TensorId id) {
  if (index >= OutputCount()) return InputError("it has {} outputs, too few", OutputCount());
  const int32_t output = node_.outputs()->Get(static_cast<uint32_t>(index));
  if (!importer_.IsComplex(output)) return InputError("output {} is not of complex numbers", index);
  NameOutput(output, id);
  importer_.Bind(output, id, Order::kModel);
  return {};
}

void Node::NameOutput(int32_t output, TensorId id) {
  const Tensor& tensor = graph().tensor(id);
  if (tensor.producer != kNone && tensor.name.starts_with(name_ + "/")) {
    const OpId producer = tensor.producer;
    const std::string name = importer_.NameOf(output);
    if (graph().FindTensor(name) == kNone) {
      graph().RenameTensor(id, name);
      graph().MutableOp(producer).name = name;
    }
  }
}

Result<TensorId> Node::Reshape(TensorId x, const std::vector<int64_t>& dims) {
  TENON_ASSIGN_OR_RETURN(const Shape shape, ShapeFromDims(dims));
  if (shape == ShapeOf(x)) return x;
  const Tensor tensor = graph().tensor(x);
  if (tensor.IsConstant() && shape.Elements() == tensor.shape.Elements()) {
    return graph().AddConstant(tensor.name + "/reshaped", tensor.dtype, shape, *tensor.constant);
  }
  return Emit(OpKind::kReshape, {x}, Attributes(ReshapeTo(shape)));
}

Result<TensorId> Node::Transpose(TensorId x, const std::vector<int32_t>& permutation) {
  if (std::is_sorted(permutation.begin(), permutation.end())) return x;
  if (graph().tensor(x).IsConstant()) {
    return importer_.Permuted(x, permutation, fmt::format("{}/permuted", name_));
  }
  TransposeAttributes attributes;
  attributes.rank = static_cast<int32_t>(permutation.size());
  std::copy(permutation.begin(), permutation.end(), attributes.permutation);
  return Emit(OpKind::kTranspose, {x}, Attributes(attributes));
}

Result<TensorId> Node::Cast(TensorId x, DType to) {
  if (DTypeOf(x) == to) return x;
  CastAttributes attributes;
  attributes.to = static_cast<int32_t>(to);
  return Emit(OpKind::kCast, {x}, Attributes(attributes));
}

Result<TensorId> Node::Unary(TensorId x, const UnaryAttributes& attributes) {
  return Emit(OpKind::kUnary, {x}, Attributes(attributes));
}

Result<TensorId> Node::Binary(BinaryFunction function, TensorId x, TensorId y) {
  BinaryAttributes attributes;
  attributes.function = function;
  return Emit(OpKind::kBinary, {x, y}, Attributes(attributes));
}

Result<TensorId> Node::Reduce(ReduceFunction function, TensorId x, int32_t axes_mask,
                              bool keep_dims) {
  ReduceAttributes attributes;
  attributes.function = function;
  attributes.axes_mask = axes_mask;
  attributes.keep_dims = keep_dims ? 1 : 0;
  return Emit(OpKind::kReduce, {x}, Attributes(attributes));
}

Result<TensorId> Node::Slice(TensorId x, const SliceAttributes& attributes) {
  const Shape shape = ShapeOf(x);
  bool everything = true;
  for (int32_t i = 0; i < attributes.rank; ++i) {
    // Of a dimension of size 1 every step takes the same element.
    everything &= attributes.sizes[i] == shape[i] && attributes.begins[i] == 0 &&
                  (attributes.steps[i] == 1 || shape[i] <= 1);
  }
  return everything ? x : Emit(OpKind::kSlice, {x}, Attributes(attributes));
}

Result<TensorId> Node::Expand(TensorId x, const Shape& shape) {
  if (shape == ShapeOf(x)) return x;
  ExpandAttributes attributes;
  attributes.rank = shape.rank;
  std::copy_n(shape.dims, shape.rank, attributes.dims);
  return Emit(OpKind::kExpand, {x}, Attributes(attributes));
}

}  // namespace tenon::converter::tflite
