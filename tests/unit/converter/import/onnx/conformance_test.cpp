// Imports ONNX's own conformance models, evaluates them with the portable kernels and compares
// with the outputs that ONNX gives.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>

#include "converter/import/onnx/onnx_import.hpp"
#include "converter/import/onnx/tensor_data.hpp"
#include "converter/ir/elements.hpp"
#include "tests/unit/converter/import/onnx/evaluate.hpp"
#include "tests/unit/converter/import/onnx/model_builder.hpp"
#include "tests/unit/converter/import/onnx/shared_folder.hpp"

namespace tenon::converter::test {
namespace {

namespace fs = std::filesystem;

struct Tally {
  int passed = 0;
  int unsupported = 0;  ///< an operator that is not in the table
  int no_kernel = 0;    ///< imported, but no portable kernel takes the dtype
  std::vector<std::string> refused;
  std::vector<std::string> wrong;
};

std::vector<TensorData> ReadTensors(const fs::path& folder, const std::string& prefix) {
  std::vector<TensorData> tensors;
  for (int i = 0;; ++i) {
    const fs::path path = folder / (prefix + std::to_string(i) + ".pb");
    if (!fs::exists(path)) return tensors;
    std::ifstream stream(path, std::ios::binary);
    onnx::TensorProto proto;
    if (!proto.ParseFromIstream(&stream)) return tensors;
    auto data = ReadTensor(proto, folder);
    if (!data.ok()) return tensors;
    tensors.push_back(std::move(*data));
  }
}

std::vector<std::string> InputNames(const fs::path& model) {
  std::ifstream stream(model, std::ios::binary);
  onnx::ModelProto proto;
  proto.ParseFromIstream(&stream);
  std::vector<std::string> names;
  for (const auto& input : proto.graph().input()) names.push_back(input.name());
  return names;
}

/// The `NAME` of `option NAME=` in a message, or empty.
std::string OptionIn(const std::string& message, const std::string& option) {
  const size_t found = message.find(option + " ");
  if (found == std::string::npos) return "";
  const size_t begin = found + option.size() + 1;
  return message.substr(begin, message.find('=', begin) - begin);
}

/// Does what the error asks for; false if it asks for nothing, or for the same thing again.
bool FollowAdvice(const std::string& message, const std::vector<std::string>& names,
                  const std::vector<TensorData>& inputs, ImportOptions& options) {
  const std::string frozen = OptionIn(message, "--freeze");
  const std::string name = frozen.empty() ? OptionIn(message, "--shape") : frozen;
  const auto index =
      static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  if (index >= inputs.size() || options.freeze.contains(name)) return false;
  const TensorData& data = inputs[index];
  if (frozen.empty()) {
    const std::vector<int64_t> dims(data.shape.dims, data.shape.dims + data.shape.rank);
    return options.shapes.emplace(name, dims).second;
  }
  options.shapes.erase(name);
  options.freeze[name] = {data.dtype, data.shape, data.bytes};
  return true;
}

/// Imports; an input that must be known at conversion, or whose dims are missing, is given.
Result<Graph> ImportWithAdvice(const fs::path& model, const std::vector<std::string>& names,
                               const std::vector<TensorData>& inputs,
                               std::vector<std::string>& differences) {
  ImportOptions options;
  while (true) {
    differences.clear();
    auto graph = ImportOnnxCrossChecked(model, options, FoldWithPortableKernels, differences);
    if (graph.ok() || !FollowAdvice(graph.error().message, names, inputs, options)) return graph;
  }
}

/// Empty if all elements are close, else what differs.
std::string Compare(const Tensor& type, const std::vector<std::byte>& bytes,
                    const TensorData& expected) {
  // NumPy has no bfloat16: such arrays stand in the files as u16.
  const bool same =
      type.dtype == expected.dtype || (type.dtype == DType::kBf16 && expected.dtype == DType::kU16);
  if (!same || type.shape != expected.shape) return "wrong type";
  const auto size = static_cast<size_t>(DTypeBytes(type.dtype));
  // ONNX made its bfloat16 data by cutting bits off, where a cast rounds to nearest.
  const double tolerance =
      type.dtype == DType::kBf16 ? 1e-2 : (type.dtype == DType::kF16 ? 5e-3 : 1e-4);
  for (size_t i = 0; i + size <= expected.bytes.size(); i += size) {
    const double want = ReadElement(type.dtype, expected.bytes.data() + i);
    const double have = ReadElement(type.dtype, bytes.data() + i);
    if (want == have || (std::isnan(want) && std::isnan(have))) continue;
    if (!(std::fabs(want - have) <= tolerance * (1.0 + std::fabs(want)))) {
      return fmt::format("element {} is {}, not {}", i / size, have, want);
    }
  }
  return "";
}

/// NonMaxSuppression here has as many rows as could be taken: those behind the expected ones must
/// be -1. Returns the rows that are not, or those that are expected.
void CutUnusedRows(const TensorData& expected, Tensor& type, std::vector<std::byte>& bytes) {
  const size_t size = expected.bytes.size();
  if (bytes.size() <= size) return;
  const bool unused = std::all_of(bytes.begin() + static_cast<ptrdiff_t>(size), bytes.end(),
                                  [](std::byte byte) { return byte == std::byte{0xFF}; });
  if (!unused) return;
  bytes.resize(size);
  type.shape = expected.shape;
}

std::string RunCase(const Graph& graph, const std::vector<std::string>& names,
                    const std::vector<TensorData>& inputs, const std::vector<TensorData>& outputs) {
  Values values;
  for (const Graph::Port& port : graph.inputs()) {
    const auto found = std::find(names.begin(), names.end(), port.name);
    const auto index = static_cast<size_t>(found - names.begin());
    if (index >= inputs.size()) return "no data for input " + port.name;
    values[port.tensor] = inputs[index].bytes;
  }
  std::vector<TensorId> wanted;
  for (const Graph::Port& port : graph.outputs()) wanted.push_back(port.tensor);
  const Status status = Evaluate(graph, wanted, values);
  if (!status.ok()) return status.error().message;
  if (outputs.size() != wanted.size()) return "wrong number of outputs";
  for (size_t i = 0; i < outputs.size(); ++i) {
    Tensor type = graph.tensor(wanted[i]);
    const std::vector<OpId> ops = graph.OpOrder();
    const bool suppresses = std::any_of(ops.begin(), ops.end(), [&](OpId op) {
      return graph.op(op).kind == OpKind::kNonMaxSuppression;
    });
    if (suppresses) CutUnusedRows(outputs[i], type, values[wanted[i]]);
    const std::string difference = Compare(type, values[wanted[i]], outputs[i]);
    if (!difference.empty()) return graph.outputs()[i].name + ": " + difference;
  }
  return "";
}

bool LacksOperator(const Error& error) {
  return !error.details.empty() && error.details[0].starts_with("unsupported op");
}

void RunFolder(const fs::path& folder, Tally& tally) {
  const fs::path data = folder / "test_data_set_0";
  const fs::path model = folder / "model.onnx";
  const std::string name = folder.filename().string();
  const std::vector<std::string> names = InputNames(model);
  const std::vector<TensorData> inputs = ReadTensors(data, "input_");
  std::vector<std::string> differences;
  const auto graph = ImportWithAdvice(model, names, inputs, differences);
  if (!graph.ok()) {
    if (LacksOperator(graph.error())) {
      ++tally.unsupported;
    } else {
      tally.refused.push_back(name + ": " + ErrorText(graph.error(), model));
    }
    return;
  }
  std::string problem = RunCase(*graph, names, inputs, ReadTensors(data, "output_"));
  if (problem.find("no portable kernel") != std::string::npos) {
    ++tally.no_kernel;
    return;
  }
  if (problem.empty() && !differences.empty()) problem = differences.front();
  if (problem.empty()) {
    ++tally.passed;
  } else {
    tally.wrong.push_back(name + ": " + problem);
  }
}

/// Reasons for refusing what no later version of the importer can be blamed for.
bool IsKnownRefusal(const std::string& text) {
  constexpr const char* kReasons[] = {
      "element type STRING is not supported",
      "is not a tensor",
      "only one to three spatial ones are supported",
      "is not supported",
      "does not take this dtype",
      "must be f32",
      "unsupported op",
  };
  return std::any_of(std::begin(kReasons), std::end(kReasons),
                     [&](const char* reason) { return text.find(reason) != std::string::npos; });
}

Tally RunGroup(const char* group) {
  Tally tally;
  const fs::path shared = SharedFolder();
  if (shared.empty()) return tally;
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(shared / "conformance" / group)) {
    if (fs::exists(entry.path() / "model.onnx")) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  REQUIRE(!folders.empty());
  for (const fs::path& folder : folders) RunFolder(folder, tally);
  MESSAGE(fmt::format("{}: {} passed, {} use unsupported ops, {} refused, {} without kernel", group,
                      tally.passed, tally.unsupported, tally.refused.size(), tally.no_kernel));
  for (const std::string& wrong : tally.wrong) MESSAGE("wrong: ", wrong);
  for (const std::string& refused : tally.refused) {
    MESSAGE("refused: ", refused);
    CHECK_MESSAGE(IsKnownRefusal(refused), refused);
  }
  CHECK(tally.wrong.empty());
  CHECK(tally.passed > 0);
  return tally;
}

}  // namespace

TEST_CASE("Conformance: ONNX's node tests are imported right or refused") { RunGroup("node"); }

TEST_CASE("Conformance: operators as PyTorch exports them are imported right or refused") {
  RunGroup("pytorch-operator");
}

TEST_CASE("Conformance: modules as PyTorch exports them are imported right or refused") {
  RunGroup("pytorch-converted");
}

TEST_CASE("Conformance: ONNX's simple models are imported right or refused") { RunGroup("simple"); }

}  // namespace tenon::converter::test
