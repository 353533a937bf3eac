#include "converter/import/onnx/model_file.hpp"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/stubs/logging.h>
#include <onnx/onnx_pb.h>

#include <climits>
#include <fstream>
#include <string>

namespace tenon::converter {
namespace {

Result<std::string> ReadFile(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (error || !std::filesystem::exists(status)) {
    return InputError("{}: no such file", path.string());
  }
  if (!std::filesystem::is_regular_file(status)) {
    return InputError("{}: not a regular file", path.string());
  }
  const uintmax_t size = std::filesystem::file_size(path, error);
  if (error) return InputError("{}: {}", path.string(), error.message());
  if (size == 0) return InputError("{}: the file is empty", path.string());
  if (size > INT_MAX) {
    return InputError("{}: over 2 GB, the limit of protobuf; store the weights as external data",
                      path.string());
  }
  std::ifstream stream(path, std::ios::binary);
  std::string content(static_cast<size_t>(size), '\0');
  if (!stream.read(content.data(), static_cast<std::streamsize>(size))) {
    return InputError("{}: cannot be read", path.string());
  }
  return content;
}

}  // namespace

Result<std::shared_ptr<onnx::ModelProto>> ReadModel(const std::filesystem::path& path) {
  TENON_ASSIGN_OR_RETURN(const std::string content, ReadFile(path));
  const google::protobuf::LogSilencer silence;
  auto model = std::make_shared<onnx::ModelProto>();
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(content.data()),
                                                static_cast<int>(content.size()));
  stream.SetTotalBytesLimit(INT_MAX);
  if (!model->ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) {
    return InputError("{}: not an ONNX model, or cut short (malformed protobuf)", path.string());
  }
  if (!model->has_graph()) {
    return InputError("{}: not an ONNX model (it has no graph)", path.string());
  }
  return model;
}

}  // namespace tenon::converter
