#include "tests/unit/converter/import/tflite/tflite_builder.hpp"

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "converter/ir/text.hpp"
#include "tests/unit/converter/import/onnx/evaluate.hpp"

namespace tenon::converter::test {

int32_t TfliteBuilder::Add(const std::string& name, format::TensorType type,
                           const std::vector<int32_t>& dims, const Numbers& numbers,
                           const std::vector<uint8_t>& data,
                           const std::vector<int32_t>& signature) {
  uint32_t buffer = 0;
  if (!data.empty()) {
    buffer = static_cast<uint32_t>(buffers_.size());
    buffers_.push_back(data);
  }
  tensors_.push_back({name, type, dims, numbers, buffer, signature, false});
  return static_cast<int32_t>(tensors_.size()) - 1;
}

int32_t TfliteBuilder::Input(const std::string& name, format::TensorType type,
                             const std::vector<int32_t>& dims, const Numbers& numbers,
                             const std::vector<int32_t>& signature) {
  inputs_.push_back(Add(name, type, dims, numbers, {}, signature));
  return inputs_.back();
}

int32_t TfliteBuilder::Value(const std::string& name, format::TensorType type,
                             const std::vector<int32_t>& dims, const Numbers& numbers) {
  return Add(name, type, dims, numbers, {});
}

int32_t TfliteBuilder::Output(const std::string& name, format::TensorType type,
                              const std::vector<int32_t>& dims, const Numbers& numbers) {
  outputs_.push_back(Add(name, type, dims, numbers, {}));
  return outputs_.back();
}

int32_t TfliteBuilder::Floats(const std::string& name, const std::vector<int32_t>& dims,
                              const std::vector<float>& values) {
  std::vector<uint8_t> data(values.size() * sizeof(float));
  std::memcpy(data.data(), values.data(), data.size());
  return Add(name, format::TensorType::FLOAT32, dims, {}, data);
}

int32_t TfliteBuilder::Ints(const std::string& name, const std::vector<int32_t>& dims,
                            const std::vector<int32_t>& values, const Numbers& numbers) {
  std::vector<uint8_t> data(values.size() * sizeof(int32_t));
  std::memcpy(data.data(), values.data(), data.size());
  return Add(name, format::TensorType::INT32, dims, numbers, data);
}

int32_t TfliteBuilder::Bytes(const std::string& name, format::TensorType type,
                             const std::vector<int32_t>& dims, const std::vector<int32_t>& values,
                             const Numbers& numbers) {
  std::vector<uint8_t> data;
  for (const int32_t value : values) data.push_back(static_cast<uint8_t>(value));
  return Add(name, type, dims, numbers, data);
}

int32_t TfliteBuilder::Variable(const std::string& name, const std::vector<int32_t>& dims,
                                format::TensorType type, const Numbers& numbers) {
  const int32_t tensor = Add(name, type, dims, numbers, {});
  tensors_.back().is_variable = true;
  return tensor;
}

int32_t TfliteBuilder::Graph(const std::vector<int32_t>& inputs,
                             const std::vector<int32_t>& outputs,
                             const std::function<void()>& body) {
  Further further{inputs, outputs, {}};
  nodes_.swap(further.nodes);
  body();
  nodes_.swap(further.nodes);
  further_.push_back(std::move(further));
  return static_cast<int32_t>(further_.size());
}

void TfliteBuilder::Custom(const std::string& op, const std::vector<int32_t>& inputs,
                           const std::vector<int32_t>& outputs,
                           const std::vector<uint8_t>& options) {
  constexpr auto kCustom = format::BuiltinOperator::CUSTOM;
  codes_.push_back(format::CreateOperatorCode(flat, static_cast<int8_t>(kCustom),
                                              flat.CreateString(op), 1, kCustom));
  nodes_.push_back(format::CreateOperator(
      flat, static_cast<uint32_t>(codes_.size()) - 1, flat.CreateVector(inputs),
      flat.CreateVector(outputs), format::BuiltinOptions::NONE, 0, flat.CreateVector(options)));
}

void TfliteBuilder::Node(format::BuiltinOperator op, const std::vector<int32_t>& inputs,
                         const std::vector<int32_t>& outputs, format::BuiltinOptions type,
                         flatbuffers::Offset<void> options) {
  const auto code = static_cast<int8_t>(std::min(static_cast<int>(op), 127));
  codes_.push_back(format::CreateOperatorCode(flat, code, 0, 1, op));
  auto& nodes = in_second_graph ? second_nodes_ : nodes_;
  nodes.push_back(format::CreateOperator(flat, static_cast<uint32_t>(codes_.size()) - 1,
                                         flat.CreateVector(inputs), flat.CreateVector(outputs),
                                         type, options, 0, 0, 0, flat.CreateVector(intermediates)));
  intermediates.clear();
}

void TfliteBuilder::StableNode(format::BuiltinOperator op, const std::vector<int32_t>& inputs,
                               const std::vector<int32_t>& outputs, format::BuiltinOptions2 type,
                               flatbuffers::Offset<void> options) {
  codes_.push_back(format::CreateOperatorCode(flat, 127, 0, 1, op));
  nodes_.push_back(format::CreateOperator(
      flat, static_cast<uint32_t>(codes_.size()) - 1, flat.CreateVector(inputs),
      flat.CreateVector(outputs), format::BuiltinOptions::NONE, 0, 0, 0, 0, 0, type, options));
}

std::vector<uint8_t> TfliteBuilder::File() {
  std::vector<flatbuffers::Offset<format::Buffer>> buffers;
  for (const std::vector<uint8_t>& data : buffers_) {
    const auto bytes = flat.CreateVector(data);
    const bool last = buffers.size() + 1 == buffers_.size();
    buffers.push_back(format::CreateBuffer(flat, bytes, last ? buffer_offset : 0));
  }
  std::vector<flatbuffers::Offset<format::Tensor>> tensors;
  for (const Stored& tensor : tensors_) {
    const auto name = flat.CreateString(tensor.name);
    const auto dims = flat.CreateVector(tensor.dims);
    const auto quantization = format::CreateQuantizationParametersDirect(
        flat, &tensor.numbers.scales, &tensor.numbers.zero_points, tensor.numbers.axis);
    const auto signature = flat.CreateVector(tensor.signature);
    const bool is_sparse = sparse && tensors.size() + 1 == tensors_.size();
    const auto sparsity = is_sparse ? format::CreateSparsityParameters(flat)
                                    : flatbuffers::Offset<format::SparsityParameters>();
    tensors.push_back(format::CreateTensor(flat, dims, tensor.type, tensor.buffer, name,
                                           quantization, tensor.is_variable, sparsity,
                                           tensor.signature.empty() ? 0 : signature));
  }
  std::vector<flatbuffers::Offset<format::SubGraph>> subgraphs;
  for (uint32_t i = 0; i < graphs; ++i) {
    subgraphs.push_back(
        format::CreateSubGraphDirect(flat, &tensors, &inputs_, &outputs_, &nodes_, "main"));
  }
  if (!second_nodes_.empty()) {
    const std::vector<int32_t> none;
    subgraphs.push_back(
        format::CreateSubGraphDirect(flat, &tensors, &none, &none, &second_nodes_, "once"));
  }
  for (const Further& graph : further_) {
    subgraphs.push_back(format::CreateSubGraphDirect(flat, &tensors, &graph.inputs, &graph.outputs,
                                                     &graph.nodes, "further"));
  }
  format::FinishModelBuffer(
      flat, format::CreateModelDirect(flat, 3, &codes_, &subgraphs, "", &buffers, &signatures));
  return {flat.GetBufferPointer(), flat.GetBufferPointer() + flat.GetSize()};
}

std::string TfliteBuilder::Text(const ImportOptions& options) {
  return TextOf(ImportBytes(File(), options));
}

Result<Graph> ImportBytes(const std::vector<uint8_t>& file, const ImportOptions& options,
                          const ConstantFolder& fold) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / fmt::format("tenon_model_{}.tflite", getpid());
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
  auto graph = ImportTflite(path, options, fold ? fold : ConstantFolder(FoldWithPortableKernels));
  std::filesystem::remove(path);
  if (graph.ok()) return graph;
  Error error = graph.error();
  const std::string prefix = path.string() + ": ";
  if (error.message.starts_with(prefix)) error.message.erase(0, prefix.size());
  return error;
}

std::string TextOf(const Result<Graph>& graph) {
  if (graph.ok()) {
    const std::string text = PrintGraph(*graph);
    return text.substr(text.find('\n') + 1);
  }
  std::string text = "error: " + graph.error().message;
  for (const std::string& detail : graph.error().details) text += "\n" + detail;
  return text;
}

}  // namespace tenon::converter::test
