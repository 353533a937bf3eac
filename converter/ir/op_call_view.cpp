// Connects the graph's ops to the op table: makes views for shape rules and kernels, and adds ops
// with inferred outputs.
#include "converter/ir/graph.hpp"
#include "runtime/ops/host/op_host_row.hpp"
#include "runtime/ops/host/op_table.hpp"

namespace tenon::converter {
namespace {

// Returns the words of the op's complete struct; missing ones get the row's defaults.
std::vector<int32_t> CompleteWords(const OpRow& row, const Attributes& attributes) {
  std::vector<int32_t> words = attributes.words();
  const size_t given = words.size();
  words.resize(row.attribute_words);
  if (given < words.size()) {
    std::memcpy(words.data() + given, GetOpHostRow(row.kind).text.DefaultWords() + given,
                (words.size() - given) * sizeof(int32_t));
  }
  return words;
}

Status CheckOperands(const Graph& graph, const OpRow& row, std::string_view name,
                     const std::vector<TensorId>& inputs, const Attributes& attributes) {
  const auto count = static_cast<int>(inputs.size());
  if (count < row.min_inputs || (row.max_inputs >= 0 && count > row.max_inputs)) {
    return InputError("{} \"{}\": {} inputs given, {} to {} wanted", row.name, name, count,
                      row.min_inputs,
                      row.max_inputs < 0 ? "any number" : fmt::to_string(row.max_inputs));
  }
  for (int i = 0; i < count; ++i) {
    const TensorId input = inputs[static_cast<size_t>(i)];
    const bool optional = i >= row.min_inputs && row.max_inputs >= 0;
    if (input == kNone && optional) continue;
    if (!graph.IsTensor(input)) {
      return InputError("{} \"{}\": input {} is absent", row.name, name, i);
    }
  }
  if (attributes.words().size() > row.attribute_words) {
    return InputError("{} \"{}\": {} attribute words given, {} known", row.name, name,
                      attributes.words().size(), row.attribute_words);
  }
  return Status();
}

/// Errors of these ops are about what they were given, more than a rule's numbers can say.
bool IsAboutOperands(OpKind kind) {
  switch (kind) {
    case OpKind::kUnary:
    case OpKind::kBinary:
    case OpKind::kQuantizedBinary:
    case OpKind::kElementwise:
    case OpKind::kSelect:
    case OpKind::kReduce:
    case OpKind::kConcat:
    case OpKind::kMatMul:
      return true;
    default:
      return false;
  }
}

/// " (f32[2,3] and f32[4])" behind an error of an op of which that is worth saying.
std::string OperandsText(const Graph& graph, const Op& op) {
  constexpr size_t kMostNamed = 4;
  if (!IsAboutOperands(op.kind)) return {};
  std::vector<std::string> texts;
  for (const TensorId id : op.inputs) {
    if (id == kNone) continue;
    if (texts.size() == kMostNamed) {
      texts.emplace_back("...");
      break;
    }
    const Tensor& tensor = graph.tensor(id);
    const int32_t* dims = tensor.shape.dims;
    texts.push_back(fmt::format("{}[{}]", DTypeName(tensor.dtype),
                                fmt::join(dims, dims + tensor.shape.rank, ",")));
  }
  return fmt::format(" ({})", fmt::join(texts, " and "));
}

}  // namespace

std::vector<int32_t> DenseStrides(const Shape& shape, Layout layout) {
  std::vector<int32_t> strides(static_cast<size_t>(shape.rank));
  int64_t next = 1;
  const auto place = [&](int32_t axis) {
    // Only empty tensors, whose strides are never used, can exceed the limit.
    strides[static_cast<size_t>(axis)] = static_cast<int32_t>(std::min<int64_t>(next, INT32_MAX));
    next = std::min<int64_t>(next * std::max(shape[axis], 1), INT32_MAX);
  };
  // Lists axes that are not in row-major order, innermost first; the rest follows from the last.
  const bool outputs_last = layout == Layout::kOutputsLast && shape.rank >= 2;
  const bool channels_last = layout == Layout::kChannelsLast && shape.rank >= 3;
  if (outputs_last) place(0);
  if (outputs_last || channels_last) place(1);
  for (int32_t axis = shape.rank - 1; axis >= 0; --axis) {
    const bool placed =
        (axis == 0 && outputs_last) || (axis == 1 && (outputs_last || channels_last));
    if (!placed) place(axis);
  }
  return strides;
}

OpCallView::OpCallView(const Graph& graph, const Op& op)
    : attributes_(CompleteWords(GetOpRow(op.kind), op.attributes)) {
  const auto add = [&](const std::vector<TensorId>& ids, std::vector<int32_t>& indices) {
    for (TensorId id : ids) {
      indices.push_back(id == kNone ? -1 : static_cast<int32_t>(views_.size()));
      if (id != kNone) AddView(graph.tensor(id));
    }
  };
  add(op.inputs, input_ids_);
  add(op.outputs, output_ids_);
  call_.tensors = views_.data();
  call_.input_ids = Span<const int32_t>(input_ids_.data(), input_ids_.size());
  call_.output_ids = Span<const int32_t>(output_ids_.data(), output_ids_.size());
  call_.attributes = attributes_.data();
}

void OpCallView::AddView(const Tensor& tensor) {
  const Shape& shape = dims_.emplace_back(tensor.shape);
  const std::vector<int32_t>& strides =
      strides_.emplace_back(DenseStrides(tensor.shape, tensor.layout));
  TensorView view;
  view.dims = shape.dims;
  view.strides = strides.data();
  view.dtype = tensor.dtype;
  view.rank = static_cast<uint8_t>(shape.rank);
  // The data is only read, and only by code that asks whether a weight is constant.
  if (tensor.IsConstant()) view.data = const_cast<std::byte*>(tensor.constant->data());
  views_.push_back(view);
}

Result<OpId> Graph::AddOp(OpKind kind, std::string_view op_name,
                          const std::vector<TensorId>& inputs, const Attributes& attributes,
                          const std::vector<std::string>& output_names) {
  return InsertOp(kNone, kind, op_name, inputs, attributes, output_names);
}

Result<TensorId> Graph::AddOpTensor(OpKind kind, std::string_view op_name,
                                    const std::vector<TensorId>& inputs,
                                    const Attributes& attributes, std::string_view output_name) {
  std::vector<std::string> output_names;
  if (!output_name.empty()) output_names.emplace_back(output_name);
  TENON_ASSIGN_OR_RETURN(const OpId id, AddOp(kind, op_name, inputs, attributes, output_names));
  return op(id).outputs.front();
}

Result<OpId> Graph::InsertOp(OpId position, OpKind kind, std::string_view op_name,
                             const std::vector<TensorId>& inputs, const Attributes& attributes,
                             const std::vector<std::string>& output_names) {
  const OpRow& row = GetOpRow(kind);
  TENON_RETURN_IF_ERROR(CheckOperands(*this, row, op_name, inputs, attributes));
  Op made;
  made.kind = kind;
  made.inputs = inputs;
  made.attributes = Attributes(CompleteWords(row, attributes));
  made.name = op_name;
  if (made.name.empty()) made.name = output_names.empty() ? row.name : output_names.front();

  OutputType types[kMaxOutputs];
  const tenon::Status inferred = row.infer(OpCallView(*this, made).call(), types);
  if (!inferred.ok()) {
    return InputError("{} \"{}\": {}{}", row.name, made.name, ToString(inferred),
                      OperandsText(*this, made));
  }
  const auto id = static_cast<OpId>(ops_.size());
  for (size_t i = 0; i < static_cast<size_t>(row.outputs); ++i) {
    const std::string_view wanted = i < output_names.size() ? output_names[i] : made.name;
    made.outputs.push_back(AddTensor(wanted, types[i].dtype, types[i].shape));
    MutableTensor(made.outputs.back()).producer = id;
  }
  OpSlot& slot = ops_.emplace_back();
  slot.op = std::move(made);
  slot.alive = true;
  Touch(id);
  PlaceInOrder(id, position);
  return id;
}

}  // namespace tenon::converter
