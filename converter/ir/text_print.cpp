#include <bit>

#include "converter/ir/elements.hpp"
#include "converter/ir/text.hpp"
#include "converter/ir/text_format.hpp"
#include "runtime/base/crc32c.hpp"
#include "runtime/ops/host/op_host_row.hpp"
#include "runtime/ops/host/op_table.hpp"

namespace tenon::converter {
namespace {

constexpr int64_t kLongestList = 16;

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (byte < 0x20) {
      quoted += fmt::format("\\x{:02x}", byte);
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string Word(std::string_view name) {
  const bool plain = !name.empty() && std::all_of(name.begin(), name.end(), IsNameCharacter);
  return plain ? std::string(name) : Quoted(name);
}

std::string Reference(const Graph& graph, TensorId id) {
  if (id == kNone) return "_";
  return fmt::format("%{}", Word(graph.tensor(id).name));
}

std::string Type(const Tensor& tensor) {
  std::string text = DTypeName(tensor.dtype);
  text += '[';
  for (int32_t i = 0; i < tensor.shape.rank; ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ",", tensor.shape[i]);
  }
  text += ']';
  if (tensor.layout == Layout::kChannelsLast) text += " channels_last";
  if (tensor.layout == Layout::kOutputsLast) text += " outputs_last";
  return text;
}

std::string Element(DType dtype, const std::byte* element) {
  if (dtype == DType::kU64) {
    return fmt::to_string(static_cast<uint64_t>(ReadInteger(dtype, element)));
  }
  if (!IsFloat(dtype)) return fmt::to_string(ReadInteger(dtype, element));
  const double value = ReadElement(dtype, element);
  if (dtype == DType::kF64) return fmt::to_string(value);
  return fmt::to_string(static_cast<float>(value));  // the shortest text that reads back the same
}

std::string Value(const Tensor& constant) {
  const std::vector<std::byte>& bytes = *constant.constant;
  if (constant.shape.Elements() > kLongestList) {
    return fmt::format("bytes({}, crc32c={:08X})", bytes.size(),
                       Crc32c(bytes.data(), bytes.size()));
  }
  const auto width = static_cast<size_t>(DTypeBytes(constant.dtype));
  std::string text = "[";
  for (size_t offset = 0; offset + width <= bytes.size(); offset += width) {
    if (offset != 0) text += ", ";
    text += Element(constant.dtype, bytes.data() + offset);
  }
  return text + "]";
}

std::string FieldValue(const AttributeField& field, int32_t word) {
  switch (field.kind) {
    case FieldKind::kFloat:
      return fmt::to_string(std::bit_cast<float>(word));
    case FieldKind::kEnum:
      if (word >= 0 && word < field.enum_count) return field.enum_names[word];
      break;
    case FieldKind::kDType:
      if (IsValidDType(word)) return DTypeName(static_cast<DType>(word));
      break;
    case FieldKind::kInt:
      break;
  }
  return fmt::to_string(word);
}

std::string FieldText(const AttributeField& field, const int32_t* words, int count) {
  if (field.count == 1) return fmt::format("{}={}", field.name, FieldValue(field, words[0]));
  std::string list;
  for (int i = 0; i < count; ++i) {
    if (i != 0) list += ',';
    list += FieldValue(field, words[i]);
  }
  return fmt::format("{}=[{}]", field.name, list);
}

std::string AttributesText(const Op& op) {
  const OpRow& row = GetOpRow(op.kind);
  std::vector<int32_t> words = op.attributes.words();
  words.resize(row.attribute_words);  // broken graphs are printed, too
  const auto* defaults = GetOpHostRow(row.kind).text.DefaultWords();
  const AttributeField* length_field = FindLengthField(row);
  std::string text;
  for (const AttributeField& field : GetOpHostRow(row.kind).text.fields) {
    if (&field == length_field) continue;
    int count = field.count;
    bool shown = !std::equal(words.begin() + field.offset, words.begin() + field.offset + count,
                             defaults + field.offset);
    if (length_field != nullptr && IsListOfLength(field)) {
      count = std::clamp(words[length_field->offset], 0, count);
      shown = count > 0;
    }
    if (!shown) continue;
    text += text.empty() ? "" : ", ";
    text += FieldText(field, words.data() + field.offset, count);
  }
  return text.empty() ? text : fmt::format(" {{{}}}", text);
}

std::string OpLine(const Graph& graph, const Op& op) {
  std::string line;
  for (TensorId output : op.outputs) {
    line += fmt::format("{}{}: {}", line.empty() ? "" : ", ", Reference(graph, output),
                        Type(graph.tensor(output)));
  }
  line += fmt::format(" = {}(", GetOpRow(op.kind).name);
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    line += fmt::format("{}{}", i == 0 ? "" : ", ", Reference(graph, op.inputs[i]));
  }
  line += fmt::format("){}", AttributesText(op));
  const bool named_after_output =
      !op.outputs.empty() && op.name == graph.tensor(op.outputs.front()).name;
  if (!named_after_output) line += fmt::format(" {}", Quoted(op.name));
  if (!op.backend.empty()) line += fmt::format(" @{}", op.backend);
  if (!op.kernel.empty()) line += fmt::format("/{}", op.kernel);
  return line;
}

std::string PortLine(const Graph& graph, const char* keyword, const Graph::Port& port) {
  const std::string& name = graph.tensor(port.tensor).name;
  std::string line = fmt::format("{} {}", keyword, Reference(graph, port.tensor));
  if (port.name != name) line += fmt::format(" as {}", Quoted(port.name));
  return line;
}

std::string StateLine(const Graph& graph, const Graph::State& state) {
  std::string line = fmt::format("state {} = {}", Quoted(state.input), Quoted(state.output));
  const Graph::Port* port = graph.FindPort(/*output=*/false, state.input);
  if (state.initial == nullptr || port == nullptr) return line;
  Tensor initial = graph.tensor(port->tensor);
  initial.constant = state.initial;
  return line + " from " + Value(initial);
}

}  // namespace

std::string PrintGraph(const Graph& graph) {
  std::string text = fmt::format("graph {}\n", Word(graph.name));
  for (const Graph::Port& port : graph.inputs()) {
    text += PortLine(graph, "input", port) + ": " + Type(graph.tensor(port.tensor)) + "\n";
  }
  for (TensorId id : graph.Tensors()) {
    const Tensor& tensor = graph.tensor(id);
    if (!tensor.IsConstant()) continue;
    text += fmt::format("const {}: {} = {}\n", Reference(graph, id), Type(tensor), Value(tensor));
  }
  for (OpId id : graph.OpOrder()) text += OpLine(graph, graph.op(id)) + "\n";
  for (const Graph::Port& port : graph.outputs()) text += PortLine(graph, "output", port) + "\n";
  for (const Graph::State& state : graph.states) text += StateLine(graph, state) + "\n";
  return text;
}

}  // namespace tenon::converter
