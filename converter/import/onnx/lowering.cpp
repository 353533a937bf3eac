#include "converter/import/onnx/lowering.hpp"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <limits>

#include "converter/import/import_graph.hpp"
#include "converter/import/onnx/importer.hpp"
#include "converter/ir/elements.hpp"
#include "converter/ir/shapes.hpp"
#include "runtime/ops/host/op_table.hpp"

namespace tenon::converter {

using onnx::AttributeProto;

const std::string& Lowering::op_type() const { return node_.op_type(); }
Graph& Lowering::graph() { return importer_.graph(); }
const std::filesystem::path& Lowering::folder() const { return importer_.folder(); }
const ImportOptions& Lowering::options() const { return importer_.options(); }

void Lowering::Warn(std::string_view problem) {
  AddWarning(options(), fmt::format("node '{}' ({}): {}", name_, op_type(), problem));
}

namespace {

bool AsksForOrder(BinaryFunction function) {
  using F = BinaryFunction;
  return function == F::kMax || function == F::kMin || function == F::kLess ||
         function == F::kLessOrEqual || function == F::kGreater || function == F::kGreaterOrEqual;
}

/// The type in which kernels compute what they do not compute in `dtype`: results have the same low
/// bits. `dtype` itself: where they do, and where none is wide enough.
DType CarrierOf(DType dtype, BinaryFunction function) {
  using F = BinaryFunction;
  if (dtype == DType::kI16 || dtype == DType::kU16) return DType::kI32;
  if (dtype == DType::kU32) return DType::kI64;
  const bool signless = function == F::kAdd || function == F::kSub || function == F::kMul ||
                        function == F::kPow || function == F::kEqual;
  if (dtype == DType::kU64 && (signless || AsksForOrder(function))) return DType::kI64;
  return dtype;
}

Result<TensorId> BinaryIn(Lowering& node, DType carrier, BinaryFunction function, TensorId x,
                          TensorId y, int output) {
  const DType dtype = node.DTypeOf(x);
  // Less 2^63 the order of u64 is that of i64.
  const bool shifted = dtype == DType::kU64 && AsksForOrder(function);
  const auto shift = [&](TensorId id) -> Result<TensorId> {
    if (!shifted) return id;
    TENON_ASSIGN_OR_RETURN(
        const TensorId lowest,
        node.Scalar("lowest", carrier,
                    static_cast<double>(std::numeric_limits<int64_t>::lowest())));
    return node.Binary(BinaryFunction::kAdd, id, lowest);
  };
  TENON_ASSIGN_OR_RETURN(TensorId a, node.Cast(x, carrier));
  TENON_ASSIGN_OR_RETURN(TensorId b, node.Cast(y, carrier));
  TENON_ASSIGN_OR_RETURN(a, shift(a));
  TENON_ASSIGN_OR_RETURN(b, shift(b));
  if (GivesBool(function)) return node.Binary(function, a, b, output);
  TENON_ASSIGN_OR_RETURN(TensorId result, node.Binary(function, a, b));
  TENON_ASSIGN_OR_RETURN(result, shift(result));
  return node.Cast(result, dtype, output);
}

}  // namespace

// --- operands
// -------------------------------------------------------------------------------------

int Lowering::InputCount() const { return node_.input_size(); }
int Lowering::OutputCount() const { return node_.output_size(); }

bool Lowering::HasInput(int index) const {
  return index < node_.input_size() && !node_.input(index).empty();
}

int32_t Lowering::PackedBitsOf(TensorId id) const { return importer_.PackedBitsOf(id); }
void Lowering::SetPackedBits(TensorId id, int32_t bits) { importer_.SetPackedBits(id, bits); }

const std::vector<TensorId>* Lowering::SequenceOf(TensorId id) const {
  return importer_.SequenceOf(id);
}

Status Lowering::SequenceOutput(const std::vector<TensorId>& elements) {
  TENON_ASSIGN_OR_RETURN(const TensorId id, Scalar("sequence", DType::kU8, 0));
  importer_.SetSequence(id, elements);
  Alias(0, id);
  return {};
}

bool Lowering::OutputUsed(int index) const {
  return index < node_.output_size() && !node_.output(index).empty() &&
         importer_.IsUsed(node_.output(index));
}

Result<TensorId> Lowering::Input(int index) {
  if (!HasInput(index)) return InputError("input {} is missing", index);
  return importer_.Value(node_.input(index));
}

Result<std::vector<TensorId>> Lowering::Inputs() {
  std::vector<TensorId> inputs;
  for (int i = 0; i < InputCount(); ++i) {
    TENON_ASSIGN_OR_RETURN(const TensorId input, Input(i));
    inputs.push_back(input);
  }
  if (inputs.empty()) return InputError("it has no inputs");
  return inputs;
}

Shape Lowering::ShapeOf(TensorId id) { return graph().tensor(id).shape; }
DType Lowering::DTypeOf(TensorId id) { return graph().tensor(id).dtype; }

Status Lowering::OnlyFirstOutput() {
  for (int i = 1; i < OutputCount(); ++i) {
    if (OutputUsed(i)) {
      return InputError("its output {} ('{}') is not supported", i, node_.output(i));
    }
  }
  return {};
}

// --- attributes
// -----------------------------------------------------------------------------------

void Lowering::BadAttribute(std::string_view attribute, std::string_view problem) {
  if (attribute_error_.empty()) {
    attribute_error_ = fmt::format("attribute '{}' {}", attribute, problem);
  }
}

bool Lowering::HasAttribute(std::string_view attribute) const {
  const auto& all = node_.attribute();
  return std::any_of(all.begin(), all.end(),
                     [&](const AttributeProto& one) { return one.name() == attribute; });
}

const AttributeProto* Lowering::Find(std::string_view attribute, int type) {
  read_attributes_.emplace(attribute);
  for (const AttributeProto& one : node_.attribute()) {
    if (one.name() != attribute) continue;
    if (one.type() == type && one.ref_attr_name().empty()) return &one;
    BadAttribute(attribute, "has the wrong type");
  }
  return nullptr;
}

int64_t Lowering::Int(std::string_view attribute, int64_t default_value) {
  const AttributeProto* found = Find(attribute, AttributeProto::INT);
  return found == nullptr ? default_value : found->i();
}

int32_t Lowering::Int32(std::string_view attribute, int32_t default_value) {
  const int64_t value = Int(attribute, default_value);
  if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<int32_t>::max()) {
    BadAttribute(attribute, "is out of range");
    return default_value;
  }
  return static_cast<int32_t>(value);
}

bool Lowering::Flag(std::string_view attribute, bool default_value) {
  return Int(attribute, default_value ? 1 : 0) != 0;
}

float Lowering::Float(std::string_view attribute, float default_value) {
  const AttributeProto* found = Find(attribute, AttributeProto::FLOAT);
  return found == nullptr ? default_value : found->f();
}

std::string Lowering::Text(std::string_view attribute, std::string_view default_value) {
  const AttributeProto* found = Find(attribute, AttributeProto::STRING);
  return found == nullptr ? std::string(default_value) : found->s();
}

std::vector<int64_t> Lowering::Ints(std::string_view attribute) {
  const AttributeProto* found = Find(attribute, AttributeProto::INTS);
  if (found == nullptr) return {};
  return {found->ints().begin(), found->ints().end()};
}

std::vector<float> Lowering::Floats(std::string_view attribute) {
  const AttributeProto* found = Find(attribute, AttributeProto::FLOATS);
  if (found == nullptr) return {};
  return {found->floats().begin(), found->floats().end()};
}

std::vector<std::string> Lowering::Texts(std::string_view attribute) {
  const AttributeProto* found = Find(attribute, AttributeProto::STRINGS);
  if (found == nullptr) return {};
  return {found->strings().begin(), found->strings().end()};
}

const onnx::TensorProto* Lowering::TensorAttribute(std::string_view attribute) {
  const AttributeProto* found = Find(attribute, AttributeProto::TENSOR);
  return found == nullptr ? nullptr : &found->t();
}

const onnx::GraphProto* Lowering::GraphAttribute(std::string_view attribute) {
  const AttributeProto* found = Find(attribute, AttributeProto::GRAPH);
  return found == nullptr ? nullptr : &found->g();
}

void Lowering::Ignore(std::initializer_list<std::string_view> attributes) {
  for (std::string_view attribute : attributes) read_attributes_.emplace(attribute);
}

Status Lowering::CheckAttributes() const {
  if (!attribute_error_.empty()) return InputError("{}", attribute_error_);
  for (const AttributeProto& one : node_.attribute()) {
    // A hint about memory that the first versions had on every operator.
    if (opset_ < 7 && one.name() == "consumed_inputs") continue;
    if (!read_attributes_.contains(one.name())) {
      return InputError("attribute '{}' is not known", one.name());
    }
  }
  return {};
}

Result<int32_t> Lowering::Axis(int64_t axis, int32_t rank) const {
  if (axis < -rank || axis >= rank) {
    return InputError("axis {} is out of range for {} dimensions", axis, rank);
  }
  return static_cast<int32_t>(axis < 0 ? axis + rank : axis);
}

Result<std::vector<int32_t>> Lowering::Axes(const std::vector<int64_t>& axes, int32_t rank) const {
  std::vector<int32_t> result;
  for (int64_t value : axes) {
    TENON_ASSIGN_OR_RETURN(const int32_t axis, Axis(value, rank));
    if (std::find(result.begin(), result.end(), axis) != result.end()) {
      return InputError("axis {} is given twice", axis);
    }
    result.push_back(axis);
  }
  return result;
}

// --- constants
// ------------------------------------------------------------------------------------

Status Lowering::RequireConstant(TensorId id) { return importer_.Fold(id); }

void Lowering::FoldCounters(const std::vector<TensorId>& ids) { importer_.FoldCounters(ids); }

Result<std::vector<int64_t>> Lowering::ConstantInts(TensorId id) {
  if (IsFloat(DTypeOf(id))) {
    return InputError("'{}' must hold integers, not {}", graph().tensor(id).name,
                      DTypeName(DTypeOf(id)));
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

Result<std::vector<double>> Lowering::ConstantDoubles(TensorId id) {
  TENON_RETURN_IF_ERROR(RequireConstant(id));
  return ReadElements(graph().tensor(id));
}

Status Lowering::CheckRoomFor(int64_t numbers) {
  constexpr int64_t kMost = int64_t{1} << 40;  // far past every limit, and before an overflow
  return CheckRoomForBytes(std::min(numbers, kMost) * int64_t{sizeof(double)});
}

Status Lowering::CheckRoomForBytes(int64_t bytes) { return importer_.CheckMemory(bytes, name_); }

Result<TensorId> Lowering::Constant(std::string_view hint, TensorData data) {
  const std::string fresh = importer_.FreshName(fmt::format("{}/{}", name_, hint));
  return graph().AddConstant(fresh, data.dtype, data.shape, std::move(data.bytes));
}

Result<TensorId> Lowering::Constant(std::string_view hint, DType dtype, const Shape& shape,
                                    const std::vector<double>& values) {
  if (static_cast<int64_t>(values.size()) != shape.Elements()) {
    return InputError("{} has {} values, {} are wanted", hint, values.size(), shape.Elements());
  }
  return Constant(hint, TensorData{dtype, shape, WriteElements(dtype, values)});
}

Result<TensorId> Lowering::Scalar(std::string_view hint, DType dtype, double value) {
  return Constant(hint, dtype, Shape(), {value});
}

Status Lowering::ConstantOutput(int output, TensorData data) {
  const TensorId id =
      graph().AddConstant(node_.output(output), data.dtype, data.shape, std::move(data.bytes));
  SetPackedBits(id, data.packed_bits);
  Alias(output, id);
  return {};
}

// --- emitting
// -------------------------------------------------------------------------------------

Result<TensorId> Lowering::Emit(OpKind kind, const std::vector<TensorId>& inputs,
                                const Attributes& attributes, int output) {
  std::string op_name = name_;
  std::string tensor_name;
  if (output >= 0) {
    tensor_name = node_.output(output);
  } else {
    op_name = importer_.FreshName(fmt::format("{}/{}", name_, GetOpRow(kind).name));
    tensor_name = op_name;
  }
  auto made = graph().AddOpTensor(kind, op_name, inputs, attributes, tensor_name);
  if (!made.ok()) {
    Error error = made.error();
    error.kind = ErrorKind::kInput;  // the shape rule refuses what the model asks for
    return error;
  }
  return Finish(*made, output);
}

Result<TensorId> Lowering::Finish(TensorId id, int output) {
  if (output >= 0) Alias(output, id);
  return id;
}

void Lowering::Alias(int output, TensorId id) {
  if (output < OutputCount()) importer_.Bind(node_.output(output), id);
}

Result<std::vector<TensorId>> Lowering::Inline(const onnx::GraphProto& body,
                                               const std::vector<TensorId>& inputs,
                                               std::string_view tag) {
  return importer_.InlineGraph(body, inputs, fmt::format("{}/{}", name_, tag));
}

Result<TensorId> Lowering::Reshape(TensorId x, const std::vector<int64_t>& dims, int output) {
  TENON_ASSIGN_OR_RETURN(const Shape shape, ShapeFromDims(dims));
  if (shape == ShapeOf(x)) return Finish(x, output);
  const Tensor tensor = graph().tensor(x);
  if (tensor.IsConstant() && shape.Elements() == tensor.shape.Elements()) {
    const std::string name =
        output >= 0 ? node_.output(output) : importer_.FreshName(tensor.name + "/reshaped");
    return Finish(graph().AddConstant(name, tensor.dtype, shape, *tensor.constant), output);
  }
  return Emit(OpKind::kReshape, {x}, Attributes(ReshapeTo(shape)), output);
}

Result<TensorId> Lowering::Transpose(TensorId x, const std::vector<int32_t>& permutation,
                                     int output) {
  if (std::is_sorted(permutation.begin(), permutation.end())) return Finish(x, output);
  TransposeAttributes attributes;
  attributes.rank = static_cast<int32_t>(permutation.size());
  std::copy(permutation.begin(), permutation.end(), attributes.permutation);
  return Emit(OpKind::kTranspose, {x}, Attributes(attributes), output);
}

Result<TensorId> Lowering::Cast(TensorId x, DType to, int output) {
  if (DTypeOf(x) == to) return Finish(x, output);
  CastAttributes attributes;
  attributes.to = static_cast<int32_t>(to);
  return Emit(OpKind::kCast, {x}, Attributes(attributes), output);
}

Result<TensorId> Lowering::Unary(TensorId x, const UnaryAttributes& attributes, int output) {
  return Emit(OpKind::kUnary, {x}, Attributes(attributes), output);
}

Result<TensorId> Lowering::Binary(BinaryFunction function, TensorId x, TensorId y, int output) {
  const DType dtype = DTypeOf(x);
  const DType carrier = CarrierOf(dtype, function);
  if (carrier != dtype && DTypeOf(y) == dtype)
    return BinaryIn(*this, carrier, function, x, y, output);
  BinaryAttributes attributes;
  attributes.function = function;
  return Emit(OpKind::kBinary, {x, y}, Attributes(attributes), output);
}

Result<TensorId> Lowering::Reduce(ReduceFunction function, TensorId x,
                                  const std::vector<int32_t>& axes, bool keep_dims, int output) {
  ReduceAttributes attributes;
  attributes.function = function;
  attributes.keep_dims = keep_dims ? 1 : 0;
  for (int32_t axis : axes) attributes.axes_mask |= 1 << axis;
  return Emit(OpKind::kReduce, {x}, Attributes(attributes), output);
}

Result<TensorId> Lowering::Slice(TensorId x, const SliceAttributes& attributes, int output) {
  const Shape shape = ShapeOf(x);
  bool everything = true;
  for (int32_t i = 0; i < attributes.rank; ++i) {
    // Of a dimension of size 1 every step takes the same element.
    everything &= attributes.sizes[i] == shape[i] && attributes.begins[i] == 0 &&
                  (attributes.steps[i] == 1 || shape[i] <= 1);
  }
  if (everything) return Finish(x, output);
  return Emit(OpKind::kSlice, {x}, Attributes(attributes), output);
}

Result<TensorId> Lowering::Expand(TensorId x, const Shape& shape, int output) {
  if (shape == ShapeOf(x)) return Finish(x, output);
  ExpandAttributes attributes;
  attributes.rank = shape.rank;
  std::copy_n(shape.dims, shape.rank, attributes.dims);
  return Emit(OpKind::kExpand, {x}, Attributes(attributes), output);
}

}  // namespace tenon::converter
