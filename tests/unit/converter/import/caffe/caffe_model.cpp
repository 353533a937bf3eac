#include "tests/unit/converter/import/caffe/caffe_model.hpp"

#include <unistd.h>

#include <fstream>

#include "converter/ir/text.hpp"

namespace tenon::converter::test {
namespace {

void Erase(const std::string& word, std::string& text) {
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word)) {
    text.erase(at, word.size());
  }
}

}  // namespace

CaffeModel::CaffeModel(const std::vector<int>& dims, const std::string& layers) {
  text = "name: \"net\" input: \"x\" input_shape {";
  for (const int dim : dims) text += fmt::format(" dim: {}", dim);
  text += " }\n" + layers;
  Weights("nobody", {1});
}

void CaffeModel::Weights(const std::string& layer, const std::vector<float>& values,
                         const std::vector<int64_t>& dims) {
  caffe::format::LayerWeights* to = nullptr;
  for (auto& known : *weights.mutable_layer()) {
    if (known.name() == layer) to = &known;
  }
  if (to == nullptr) to = weights.add_layer();
  to->set_name(layer);
  caffe::format::Blob* blob = to->add_blobs();
  for (const float value : values) blob->add_data(value);
  if (dims.empty()) {
    blob->set_num(1);
    blob->set_channels(1);
    blob->set_height(1);
    blob->set_width(static_cast<int32_t>(values.size()));
  }
  for (const int64_t dim : dims) blob->mutable_shape()->add_dim(dim);
}

Result<Graph> CaffeModel::Import(const ImportOptions& options) const {
  const std::filesystem::path stem =
      std::filesystem::temp_directory_path() / fmt::format("tenon_caffe_{}", getpid());
  const std::string network = stem.string() + ".prototxt";
  const std::string arrays = stem.string() + ".caffemodel";
  std::ofstream(network, std::ios::binary) << text;
  std::ofstream(arrays, std::ios::binary) << weights.SerializeAsString();
  auto graph = ImportCaffe(network, options);
  std::filesystem::remove(network);
  std::filesystem::remove(arrays);
  if (graph.ok()) return graph;
  Error error = graph.error();
  Erase(network + ": ", error.message);
  Erase(arrays + ": ", error.message);
  return error;
}

std::string CaffeModel::Text(const ImportOptions& options) const {
  const auto graph = Import(options);
  if (graph.ok()) {
    const std::string printed = PrintGraph(*graph);
    return printed.substr(printed.find('\n') + 1);
  }
  std::string error = "error: " + graph.error().message;
  for (const std::string& detail : graph.error().details) error += "\n" + detail;
  return error;
}

}  // namespace tenon::converter::test
