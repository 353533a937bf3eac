#include "converter/import/onnx/model_file.hpp"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/stubs/logging.h>
#include <onnx/onnx_pb.h>

#include <climits>
#include <string>

#include "converter/import/import_graph.hpp"

namespace tenon::converter {

Result<std::shared_ptr<onnx::ModelProto>> ReadModel(const std::filesystem::path& path) {
  TENON_ASSIGN_OR_RETURN(
      const std::string content,
      ReadModelBytes(path, INT_MAX,
                     "over 2 GB, the limit of protobuf; store the weights as external data"));
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
