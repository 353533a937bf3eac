// Builds small ONNX models in tests and imports them.
#pragma once

#include <onnx/onnx_pb.h>

#include <filesystem>
#include <string>
#include <vector>

#include "converter/import/onnx/onnx_import.hpp"

namespace tenon::converter::test {

/// A folder that is removed with its contents at the end of the scope.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A model under construction. The protobuf is open for tests that break it.
class ModelBuilder {
 public:
  explicit ModelBuilder(int opset);

  /// f32; a dim below 1 is left without a value.
  ModelBuilder& Input(const std::string& name, const std::vector<int64_t>& dims,
                      int type = onnx::TensorProto::FLOAT);
  ModelBuilder& Output(const std::string& name, int type = onnx::TensorProto::FLOAT);
  ModelBuilder& Floats(const std::string& name, const std::vector<int64_t>& dims,
                       const std::vector<float>& values);
  /// f32, counting up from 1.
  ModelBuilder& Floats(const std::string& name, const std::vector<int64_t>& dims);
  /// i64, one dimension.
  ModelBuilder& Ints(const std::string& name, const std::vector<int64_t>& values);
  ModelBuilder& ScalarInt(const std::string& name, int64_t value);

  ModelBuilder& Node(const std::string& op_type, const std::vector<std::string>& inputs,
                     const std::vector<std::string>& outputs, const std::string& name = "n");
  // Attributes of the node added last.
  ModelBuilder& Set(const std::string& name, int64_t value);
  ModelBuilder& Set(const std::string& name, int value) { return Set(name, int64_t{value}); }
  ModelBuilder& Set(const std::string& name, float value);
  ModelBuilder& Set(const std::string& name, const char* value);
  ModelBuilder& Set(const std::string& name, const std::vector<int64_t>& values);
  ModelBuilder& Set(const std::string& name, const std::vector<float>& values);
  ModelBuilder& Set(const std::string& name, const onnx::TensorProto& value);

  [[nodiscard]] onnx::GraphProto& graph() { return *proto.mutable_graph(); }
  [[nodiscard]] onnx::NodeProto& last() { return *graph().mutable_node()->rbegin(); }

  void Save(const std::filesystem::path& path) const;
  /// Saved to a temporary file and imported.
  [[nodiscard]] Result<Graph> Import(const ImportOptions& options = {}) const;
  /// The imported graph's statements without the `graph` line; "error: " and the message where it
  /// is refused (without the file's name), details after it, one a line.
  [[nodiscard]] std::string Text(const ImportOptions& options = {}) const;

  onnx::ModelProto proto;

 private:
  onnx::AttributeProto& AddAttribute(const std::string& name, int type);
};

/// An initialiser of i32, or of another type whose values the model holds in as many bits.
inline ModelBuilder& AddInts(ModelBuilder& model, const std::string& name,
                             const std::vector<int64_t>& dims, const std::vector<int32_t>& values,
                             int type = onnx::TensorProto::INT32) {
  onnx::TensorProto& tensor = *model.graph().add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (const int64_t dim : dims) tensor.add_dims(dim);
  for (const int32_t value : values) tensor.add_int32_data(value);
  return model;
}

/// One of u8.
inline ModelBuilder& AddBytes(ModelBuilder& model, const std::string& name,
                              const std::vector<int64_t>& dims,
                              const std::vector<int32_t>& values) {
  return AddInts(model, name, dims, values, onnx::TensorProto::UINT8);
}

/// Text of an import's error: message and details, without the path.
[[nodiscard]] std::string ErrorText(const Error& error, const std::filesystem::path& path);

}  // namespace tenon::converter::test
