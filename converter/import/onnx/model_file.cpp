#include "converter/import/onnx/model_file.hpp"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/stubs/logging.h>
#include <onnx/onnx_pb.h>

#include <climits>
#include <string>

#include "converter/import/import_graph.hpp"
#include "converter/import/onnx/count_messages.hpp"

namespace tenon::converter {

Result<std::shared_ptr<onnx::ModelProto>> ReadModel(const std::filesystem::path& path) {
  TENON_ASSIGN_OR_RETURN(
      const std::string content,
      ReadModelBytes(path, INT_MAX,
                     "over 2 GB, the limit of protobuf; store the weights as external data"));
  const google::protobuf::LogSilencer silence;
  // Every node of a real model has names, and takes more bytes than this for each of its messages.
  constexpr int64_t kFewMessages = 200000;
  constexpr int64_t kBytesPerMessage = 16;
  const int64_t most = kFewMessages + static_cast<int64_t>(content.size()) / kBytesPerMessage;
  const auto messages = CountMessages(content, *onnx::ModelProto::descriptor(), most);
  if (messages.has_value() && *messages > most) {
    return InputError("{}: over {} nodes, names and values in {} bytes: most of them are empty",
                      path.string(), most, content.size());
  }
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
