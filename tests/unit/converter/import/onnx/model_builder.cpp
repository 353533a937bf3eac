#include "tests/unit/converter/import/onnx/model_builder.hpp"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <numeric>
#include <stdexcept>

#include "converter/ir/text.hpp"
#include "tests/unit/converter/import/onnx/evaluate.hpp"

namespace tenon::converter::test {

TempFolder::TempFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "tenon-import-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = pattern;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

ModelBuilder::ModelBuilder(int opset) {
  proto.set_ir_version(8);
  proto.add_opset_import()->set_version(opset);
  graph().set_name("test");
}

ModelBuilder& ModelBuilder::Input(const std::string& name, const std::vector<int64_t>& dims,
                                  int type) {
  auto& input = *graph().add_input();
  input.set_name(name);
  auto& tensor = *input.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(type);
  tensor.mutable_shape();
  for (int64_t dim : dims) {
    auto& added = *tensor.mutable_shape()->add_dim();
    if (dim > 0) added.set_dim_value(dim);
  }
  return *this;
}

ModelBuilder& ModelBuilder::Output(const std::string& name, int type) {
  auto& output = *graph().add_output();
  output.set_name(name);
  output.mutable_type()->mutable_tensor_type()->set_elem_type(type);
  return *this;
}

ModelBuilder& ModelBuilder::Floats(const std::string& name, const std::vector<int64_t>& dims,
                                   const std::vector<float>& values) {
  auto& tensor = *graph().add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.mutable_dims()->Assign(dims.begin(), dims.end());
  tensor.mutable_float_data()->Assign(values.begin(), values.end());
  return *this;
}

ModelBuilder& ModelBuilder::Floats(const std::string& name, const std::vector<int64_t>& dims) {
  const auto count = std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
  std::vector<float> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), 1.0F);
  return Floats(name, dims, values);
}

ModelBuilder& ModelBuilder::Ints(const std::string& name, const std::vector<int64_t>& values) {
  auto& tensor = *graph().add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.add_dims(static_cast<int64_t>(values.size()));
  tensor.mutable_int64_data()->Assign(values.begin(), values.end());
  return *this;
}

ModelBuilder& ModelBuilder::ScalarInt(const std::string& name, int64_t value) {
  Ints(name, {value});
  graph().mutable_initializer()->rbegin()->clear_dims();
  return *this;
}

ModelBuilder& ModelBuilder::Node(const std::string& op_type, const std::vector<std::string>& inputs,
                                 const std::vector<std::string>& outputs, const std::string& name) {
  auto& node = *graph().add_node();
  node.set_op_type(op_type);
  node.set_name(name);
  for (const std::string& input : inputs) node.add_input(input);
  for (const std::string& output : outputs) node.add_output(output);
  return *this;
}

onnx::AttributeProto& ModelBuilder::AddAttribute(const std::string& name, int type) {
  auto& attribute = *last().add_attribute();
  attribute.set_name(name);
  attribute.set_type(static_cast<onnx::AttributeProto::AttributeType>(type));
  return attribute;
}

ModelBuilder& ModelBuilder::Set(const std::string& name, int64_t value) {
  AddAttribute(name, onnx::AttributeProto::INT).set_i(value);
  return *this;
}

ModelBuilder& ModelBuilder::Set(const std::string& name, float value) {
  AddAttribute(name, onnx::AttributeProto::FLOAT).set_f(value);
  return *this;
}

ModelBuilder& ModelBuilder::Set(const std::string& name, const char* value) {
  AddAttribute(name, onnx::AttributeProto::STRING).set_s(value);
  return *this;
}

ModelBuilder& ModelBuilder::Set(const std::string& name, const std::vector<int64_t>& values) {
  AddAttribute(name, onnx::AttributeProto::INTS)
      .mutable_ints()
      ->Assign(values.begin(), values.end());
  return *this;
}

ModelBuilder& ModelBuilder::Set(const std::string& name, const std::vector<float>& values) {
  AddAttribute(name, onnx::AttributeProto::FLOATS)
      .mutable_floats()
      ->Assign(values.begin(), values.end());
  return *this;
}

ModelBuilder& ModelBuilder::Set(const std::string& name, const onnx::TensorProto& value) {
  *AddAttribute(name, onnx::AttributeProto::TENSOR).mutable_t() = value;
  return *this;
}

void ModelBuilder::Save(const std::filesystem::path& path) const {
  std::ofstream stream(path, std::ios::binary);
  if (!proto.SerializeToOstream(&stream)) throw std::runtime_error("cannot write the model");
}

Result<Graph> ModelBuilder::Import(const ImportOptions& options) const {
  const TempFolder folder;
  const std::filesystem::path path = folder.path() / "model.onnx";
  Save(path);
  auto graph = ImportOnnx(path, options, FoldWithPortableKernels);
  if (graph.ok()) return graph;
  Error error = graph.error();
  const std::string prefix = path.string() + ": ";
  if (error.message.starts_with(prefix)) error.message.erase(0, prefix.size());
  return error;
}

std::string ModelBuilder::Text(const ImportOptions& options) const {
  const auto graph = Import(options);
  if (!graph.ok()) return ErrorText(graph.error(), "");
  const std::string text = PrintGraph(*graph);
  return text.substr(text.find('\n') + 1);
}

std::string ErrorText(const Error& error, const std::filesystem::path& path) {
  std::string message = error.message;
  const std::string prefix = path.string() + ": ";
  if (!path.empty() && message.starts_with(prefix)) message.erase(0, prefix.size());
  std::string text = "error: " + message;
  for (const std::string& detail : error.details) text += "\n" + detail;
  return text;
}

}  // namespace tenon::converter::test
