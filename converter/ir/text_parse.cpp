#include <bit>

#include "converter/ir/elements.hpp"
#include "converter/ir/text.hpp"
#include "converter/ir/text_format.hpp"
#include "converter/ir/text_scanner.hpp"
#include "runtime/ops/host/op_host_row.hpp"
#include "runtime/ops/host/op_table.hpp"
#include "runtime/ops/kernel_name.hpp"

namespace tenon::converter {
namespace {

// Text is for tests and people: a longer constant is an error, not intended.
constexpr int64_t kMaxConstantBytes = int64_t{1} << 30;

struct ParsedType {
  DType dtype = DType::kF32;
  Shape shape;
  Layout layout = Layout::kRowMajor;
};

struct OutputText {
  std::string name;
  std::optional<ParsedType> type;
};

Result<DType> DTypeFromName(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (name == DTypeName(dtype)) return dtype;
  }
  return InputError("unknown dtype '{}'", name);
}

Result<ParsedType> ParseType(LineScanner& scanner) {
  ParsedType type;
  TENON_ASSIGN_OR_RETURN(const std::string dtype, scanner.Word());
  TENON_ASSIGN_OR_RETURN(type.dtype, DTypeFromName(dtype));
  TENON_RETURN_IF_ERROR(scanner.Expect('['));
  while (!scanner.Accept(']')) {
    if (type.shape.rank == kMaxRank) return InputError("more than {} dimensions", kMaxRank);
    if (type.shape.rank > 0) TENON_RETURN_IF_ERROR(scanner.Expect(','));
    TENON_ASSIGN_OR_RETURN(type.shape.dims[type.shape.rank], scanner.Number<int32_t>());
    ++type.shape.rank;
  }
  if (!type.shape.IsValid()) return InputError("dimensions are negative or too large");
  if (scanner.AcceptWord("channels_last")) type.layout = Layout::kChannelsLast;
  if (scanner.AcceptWord("outputs_last")) type.layout = Layout::kOutputsLast;
  return type;
}

// --- constants ----------------------------------------------------------------------------------

Status ParseElement(LineScanner& scanner, DType dtype, std::byte* element) {
  if (dtype == DType::kF64) {
    TENON_ASSIGN_OR_RETURN(const double value, scanner.Number<double>());
    WriteElement(dtype, value, element);
  } else if (IsFloat(dtype)) {
    TENON_ASSIGN_OR_RETURN(const float value, scanner.Number<float>());
    WriteElement(dtype, static_cast<double>(value), element);
  } else if (dtype == DType::kU64) {
    TENON_ASSIGN_OR_RETURN(const uint64_t value, scanner.Number<uint64_t>());
    WriteInteger(dtype, static_cast<int64_t>(value), element);
  } else {
    TENON_ASSIGN_OR_RETURN(const int64_t value, scanner.Number<int64_t>());
    WriteInteger(dtype, value, element);
    const bool in_range =
        dtype == DType::kBool ? value == 0 || value == 1 : ReadInteger(dtype, element) == value;
    if (!in_range) return InputError("{} is no {}", value, DTypeName(dtype));
  }
  return Status();
}

Result<std::vector<std::byte>> ParseList(LineScanner& scanner, const ParsedType& type) {
  const auto width = static_cast<size_t>(DTypeBytes(type.dtype));
  const auto count = static_cast<size_t>(type.shape.Elements());
  std::vector<std::byte> bytes(count * width);
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) TENON_RETURN_IF_ERROR(scanner.Expect(','));
    TENON_RETURN_IF_ERROR(ParseElement(scanner, type.dtype, bytes.data() + i * width));
  }
  if (!scanner.Accept(']')) {
    return InputError("{} values and then ']' expected {}", count, scanner.Here());
  }
  return bytes;
}

Result<std::vector<std::byte>> ParseSplat(LineScanner& scanner, const ParsedType& type) {
  const auto width = static_cast<size_t>(DTypeBytes(type.dtype));
  TENON_RETURN_IF_ERROR(scanner.Expect('('));
  std::vector<std::byte> element(width);
  TENON_RETURN_IF_ERROR(ParseElement(scanner, type.dtype, element.data()));
  TENON_RETURN_IF_ERROR(scanner.Expect(')'));
  std::vector<std::byte> bytes;
  bytes.reserve(static_cast<size_t>(type.shape.Elements()) * width);
  for (int64_t i = 0; i < type.shape.Elements(); ++i) {
    bytes.insert(bytes.end(), element.begin(), element.end());
  }
  return bytes;
}

Result<std::vector<std::byte>> ParseConstant(LineScanner& scanner, const ParsedType& type) {
  if (type.shape.Elements() * DTypeBytes(type.dtype) > kMaxConstantBytes) {
    return InputError("constants in text may have {} bytes", kMaxConstantBytes);
  }
  if (scanner.Accept('[')) return ParseList(scanner, type);
  if (scanner.AcceptWord("splat")) return ParseSplat(scanner, type);
  if (scanner.AcceptWord("random")) {
    TENON_RETURN_IF_ERROR(scanner.Expect('('));
    TENON_ASSIGN_OR_RETURN(const uint64_t seed, scanner.Number<uint64_t>());
    TENON_RETURN_IF_ERROR(scanner.Expect(')'));
    return RandomElements(type.dtype, type.shape.Elements(), seed);
  }
  if (scanner.AcceptWord("bytes")) {
    return InputError("bytes(...) stands for a constant that was too long to print");
  }
  return InputError("[values], splat(value) or random(seed) expected {}", scanner.Here());
}

// --- attributes ---------------------------------------------------------------------------------

Result<int32_t> ParseFieldValue(LineScanner& scanner, const AttributeField& field) {
  if (field.kind == FieldKind::kInt) return scanner.Number<int32_t>();
  if (field.kind == FieldKind::kFloat) {
    TENON_ASSIGN_OR_RETURN(const float value, scanner.Number<float>());
    return std::bit_cast<int32_t>(value);
  }
  TENON_ASSIGN_OR_RETURN(const std::string word, scanner.Word());
  if (field.kind == FieldKind::kDType) {
    TENON_ASSIGN_OR_RETURN(const DType dtype, DTypeFromName(word));
    return static_cast<int32_t>(dtype);
  }
  for (int i = 0; i < field.enum_count; ++i) {
    if (word == field.enum_names[i]) return i;
  }
  return InputError("{} cannot be '{}'", field.name, word);
}

Status ParseFieldList(LineScanner& scanner, const OpRow& row, const AttributeField& field,
                      std::vector<int32_t>& words) {
  TENON_RETURN_IF_ERROR(scanner.Expect('['));
  int count = 0;
  while (!scanner.Accept(']')) {
    if (count == field.count) return InputError("{} has more than {} values", field.name, count);
    if (count > 0) TENON_RETURN_IF_ERROR(scanner.Expect(','));
    const size_t index = static_cast<size_t>(field.offset) + static_cast<size_t>(count);
    TENON_ASSIGN_OR_RETURN(words[index], ParseFieldValue(scanner, field));
    ++count;
  }
  const AttributeField* length = FindLengthField(row);
  if (length != nullptr && IsListOfLength(field)) {
    int32_t& known = words[length->offset];
    if (known != 0 && known != count) return InputError("lists of different lengths");
    known = count;
  } else if (count != field.count) {
    return InputError("{} wants {} values", field.name, field.count);
  }
  return Status();
}

Status ParseField(LineScanner& scanner, const OpRow& row, std::vector<int32_t>& words) {
  TENON_ASSIGN_OR_RETURN(const std::string name, scanner.Word());
  TENON_RETURN_IF_ERROR(scanner.Expect('='));
  std::string known;
  for (const AttributeField& field : GetOpHostRow(row.kind).text.fields) {
    if (name == field.name) {
      if (field.count > 1) return ParseFieldList(scanner, row, field, words);
      TENON_ASSIGN_OR_RETURN(words[field.offset], ParseFieldValue(scanner, field));
      return Status();
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", field.name);
  }
  return InputError("{} has no attribute '{}' (it has: {})", row.name, name,
                    known.empty() ? "none" : known);
}

Result<Attributes> ParseAttributes(LineScanner& scanner, const OpRow& row) {
  std::vector<int32_t> words(row.attribute_words);
  const auto* defaults = GetOpHostRow(row.kind).text.DefaultWords();
  std::copy(defaults, defaults + words.size(), words.begin());
  if (!scanner.Accept('{')) return Attributes(std::move(words));
  for (bool first = true; !scanner.Accept('}'); first = false) {
    if (!first) TENON_RETURN_IF_ERROR(scanner.Expect(','));
    TENON_RETURN_IF_ERROR(ParseField(scanner, row, words));
  }
  return Attributes(std::move(words));
}

// --- statements ---------------------------------------------------------------------------------

class GraphParser {
 public:
  Status ParseLine(std::string_view line) {
    LineScanner scanner(line);
    if (scanner.AtEnd()) return Status();
    TENON_RETURN_IF_ERROR(ParseStatement(scanner));
    if (!scanner.AtEnd()) return InputError("nothing more expected {}", scanner.Here());
    return Status();
  }
  Graph& graph() { return graph_; }

 private:
  Status ParseStatement(LineScanner& scanner) {
    if (scanner.AcceptWord("graph")) {
      TENON_ASSIGN_OR_RETURN(graph_.name, scanner.Word());
      return Status();
    }
    if (scanner.AcceptWord("input")) return ParseInput(scanner);
    if (scanner.AcceptWord("const")) return ParseConst(scanner);
    if (scanner.AcceptWord("output")) return ParseOutput(scanner);
    if (scanner.AcceptWord("state")) return ParseState(scanner);
    return ParseOp(scanner);
  }

  Status ParseInput(LineScanner& scanner) {
    TENON_ASSIGN_OR_RETURN(const std::string name, ParseNewName(scanner));
    TENON_ASSIGN_OR_RETURN(const std::string port, ParsePortName(scanner, name));
    TENON_RETURN_IF_ERROR(scanner.Expect(':'));
    TENON_ASSIGN_OR_RETURN(const ParsedType type, ParseType(scanner));
    const TensorId id = graph_.AddTensor(name, type.dtype, type.shape);
    graph_.MutableTensor(id).layout = type.layout;
    graph_.AddInput(id, port);
    return Status();
  }

  Status ParseConst(LineScanner& scanner) {
    TENON_ASSIGN_OR_RETURN(const std::string name, ParseNewName(scanner));
    TENON_RETURN_IF_ERROR(scanner.Expect(':'));
    TENON_ASSIGN_OR_RETURN(const ParsedType type, ParseType(scanner));
    TENON_RETURN_IF_ERROR(scanner.Expect('='));
    TENON_ASSIGN_OR_RETURN(std::vector<std::byte> bytes, ParseConstant(scanner, type));
    const TensorId id = graph_.AddConstant(name, type.dtype, type.shape, std::move(bytes));
    graph_.MutableTensor(id).layout = type.layout;
    return Status();
  }

  Status ParseState(LineScanner& scanner) {
    Graph::State state;
    TENON_ASSIGN_OR_RETURN(state.input, scanner.QuotedString());
    TENON_RETURN_IF_ERROR(scanner.Expect('='));
    TENON_ASSIGN_OR_RETURN(state.output, scanner.QuotedString());
    const Graph::Port* port = graph_.FindPort(/*output=*/false, state.input);
    if (port == nullptr) return InputError("there is no input \"{}\"", state.input);
    if (scanner.AcceptWord("from")) {
      const Tensor& tensor = graph_.tensor(port->tensor);
      TENON_ASSIGN_OR_RETURN(std::vector<std::byte> bytes,
                             ParseConstant(scanner, ParsedType{tensor.dtype, tensor.shape, {}}));
      state.initial = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
    }
    graph_.states.push_back(std::move(state));
    return Status();
  }

  Status ParseOutput(LineScanner& scanner) {
    TENON_ASSIGN_OR_RETURN(const TensorId id, ParseTensor(scanner));
    TENON_ASSIGN_OR_RETURN(const std::string port, ParsePortName(scanner, graph_.tensor(id).name));
    graph_.AddOutput(id, port);
    return Status();
  }

  Status ParseOp(LineScanner& scanner) {
    TENON_ASSIGN_OR_RETURN(const std::vector<OutputText> outputs, ParseOutputs(scanner));
    TENON_ASSIGN_OR_RETURN(const std::string kind, scanner.Word());
    const OpRow* row = FindOpRow(kind.c_str());
    if (row == nullptr) return InputError("unknown op '{}'", kind);
    if (outputs.size() != static_cast<size_t>(row->outputs)) {
      return InputError("{} has {} outputs, not {}", kind, row->outputs, outputs.size());
    }
    TENON_ASSIGN_OR_RETURN(const std::vector<TensorId> inputs, ParseOperands(scanner));
    TENON_ASSIGN_OR_RETURN(const Attributes attributes, ParseAttributes(scanner, *row));
    std::string name = outputs.front().name;
    if (scanner.SeesQuote()) {
      TENON_ASSIGN_OR_RETURN(name, scanner.QuotedString());
    }
    std::vector<std::string> names;
    names.reserve(outputs.size());
    for (const OutputText& output : outputs) names.push_back(output.name);
    TENON_ASSIGN_OR_RETURN(const OpId id, graph_.AddOp(row->kind, name, inputs, attributes, names));
    TENON_RETURN_IF_ERROR(ParseKernel(scanner, graph_.MutableOp(id)));
    return CheckTypes(id, outputs);
  }

  Result<std::vector<OutputText>> ParseOutputs(LineScanner& scanner) {
    std::vector<OutputText> outputs;
    do {
      OutputText& output = outputs.emplace_back();
      TENON_ASSIGN_OR_RETURN(output.name, ParseNewName(scanner));
      for (size_t i = 0; i + 1 < outputs.size(); ++i) {
        if (outputs[i].name == output.name) return InputError("%{} stands twice", output.name);
      }
      if (scanner.Accept(':')) {
        TENON_ASSIGN_OR_RETURN(output.type, ParseType(scanner));
      }
    } while (scanner.Accept(','));
    TENON_RETURN_IF_ERROR(scanner.Expect('='));
    return outputs;
  }

  Result<std::vector<TensorId>> ParseOperands(LineScanner& scanner) {
    std::vector<TensorId> inputs;
    TENON_RETURN_IF_ERROR(scanner.Expect('('));
    while (!scanner.Accept(')')) {
      if (!inputs.empty()) TENON_RETURN_IF_ERROR(scanner.Expect(','));
      if (scanner.AcceptWord("_")) {
        inputs.push_back(kNone);
        continue;
      }
      TENON_ASSIGN_OR_RETURN(const TensorId id, ParseTensor(scanner));
      inputs.push_back(id);
    }
    return inputs;
  }

  static Status ParseKernel(LineScanner& scanner, Op& op) {
    if (!scanner.Accept('@')) return Status();
    TENON_ASSIGN_OR_RETURN(const std::string chosen, scanner.Word());
    const size_t slash = chosen.find('/');
    op.backend = chosen.substr(0, slash);
    if (slash == std::string::npos) return Status();
    op.kernel = chosen.substr(slash + 1);
    if (!scanner.Accept(kVariantMark)) return Status();
    TENON_ASSIGN_OR_RETURN(const std::string variant, scanner.Word());
    op.kernel += kVariantMark + variant;
    return Status();
  }

  Status CheckTypes(OpId id, const std::vector<OutputText>& outputs) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i].type.has_value()) continue;
      Tensor& tensor = graph_.MutableTensor(graph_.op(id).outputs[i]);
      const ParsedType& type = *outputs[i].type;
      if (type.dtype != tensor.dtype || type.shape != tensor.shape) {
        return InputError("%{} is {}[{}] by the rule of its op", tensor.name,
                          DTypeName(tensor.dtype),
                          fmt::join(tensor.shape.dims, tensor.shape.dims + tensor.shape.rank, ","));
      }
      tensor.layout = type.layout;
    }
    return Status();
  }

  // Reads `%name`, which must not be taken yet.
  Result<std::string> ParseNewName(LineScanner& scanner) {
    TENON_RETURN_IF_ERROR(scanner.Expect('%'));
    TENON_ASSIGN_OR_RETURN(std::string name, scanner.Word());
    if (name.empty()) return InputError("an empty name");
    if (graph_.FindTensor(name) != kNone) return InputError("%{} is defined twice", name);
    return name;
  }

  Result<TensorId> ParseTensor(LineScanner& scanner) {
    TENON_RETURN_IF_ERROR(scanner.Expect('%'));
    TENON_ASSIGN_OR_RETURN(const std::string name, scanner.Word());
    const TensorId id = graph_.FindTensor(name);
    if (id == kNone) return InputError("%{} is not defined", name);
    return id;
  }

  static Result<std::string> ParsePortName(LineScanner& scanner, const std::string& otherwise) {
    if (!scanner.AcceptWord("as")) return otherwise;
    return scanner.QuotedString();
  }

  Graph graph_;
};

}  // namespace

Result<Graph> ParseGraph(std::string_view text) {
  GraphParser parser;
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const Status parsed = parser.ParseLine(text.substr(0, end));
    if (!parsed.ok()) return InputError("line {}: {}", number, parsed.error().message);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  TENON_RETURN_IF_ERROR(Verify(parser.graph()));
  return std::move(parser.graph());
}

}  // namespace tenon::converter
