#include "converter/import/caffe/model_file.hpp"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "caffe_subset.pb.h"
#include "converter/import/import_graph.hpp"

namespace tenon::converter::caffe {
namespace {

/// Fields that change nothing of what a trained network computes: how it was trained, how arrays
/// were filled before, by which library it was computed.
constexpr std::string_view kNotNeeded[] = {"param",
                                           "weight_filler",
                                           "bias_filler",
                                           "filler",
                                           "scale_filler",
                                           "loss_weight",
                                           "propagate_down",
                                           "loss_param",
                                           "dropout_param",
                                           "force_backward",
                                           "state",
                                           "debug_info",
                                           "engine",
                                           "blobs_lr",
                                           "weight_decay",
                                           "transform_param",
                                           "data_param",
                                           "save_output_param",
                                           "visualize",
                                           "visualize_threshold",
                                           "save_file",
                                           "share_in_parallel",
                                           "cudnn_convolution_algo_seeker",
                                           "force_nd_im2col",
                                           "stage",
                                           "not_stage",
                                           "min_level"};

/// Collects what the parser finds.
class Findings final : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (error_.empty())
      error_ = fmt::format("line {}, column {}: {}", line + 1, column + 1, message);
  }
  /// Unknown fields: "Message type "x.Layer" has no field named "y"."
  void AddWarning(int line, int /*column*/, const std::string& message) override {
    const size_t end = message.rfind('"');
    const size_t begin = end == std::string::npos ? end : message.rfind('"', end - 1);
    if (begin == std::string::npos || message.find("no field named") == std::string::npos) return;
    const std::string field = message.substr(begin + 1, end - begin - 1);
    if (std::find(std::begin(kNotNeeded), std::end(kNotNeeded), field) != std::end(kNotNeeded)) {
      return;
    }
    unknown_.push_back(fmt::format("line {}: field '{}' is not known", line + 1, field));
  }

  [[nodiscard]] Status Told(const std::filesystem::path& path) const {
    if (!error_.empty()) return InputError("{}: {}", path.string(), error_);
    if (unknown_.empty()) return {};
    Error error = InputError("{}: {}", path.string(), unknown_.front());
    error.details.assign(unknown_.begin() + 1, unknown_.end());
    return error;
  }

 private:
  std::string error_;
  std::vector<std::string> unknown_;
};

Result<Blob> ReadBlob(const format::Blob& stored) {
  Blob blob;
  if (stored.has_shape()) {
    blob.dims.assign(stored.shape().dim().begin(), stored.shape().dim().end());
  } else {
    blob.dims = {stored.num(), stored.channels(), stored.height(), stored.width()};
  }
  blob.values.assign(stored.data().begin(), stored.data().end());
  if (blob.values.empty()) {
    blob.values.assign(stored.double_data().begin(), stored.double_data().end());
  }
  TENON_ASSIGN_OR_RETURN(const Shape shape, ShapeFromDims(blob.dims));
  if (shape.Elements() != static_cast<int64_t>(blob.values.size())) {
    return InputError("an array of {} elements holds {}", shape.Elements(), blob.values.size());
  }
  return blob;
}

template <typename Layers>
Status ReadLayers(const Layers& layers, WeightsByLayer& weights) {
  for (const auto& layer : layers) {
    if (layer.blobs().empty()) continue;
    std::vector<Blob> blobs;
    for (const format::Blob& stored : layer.blobs()) {
      auto blob = ReadBlob(stored);
      if (!blob.ok()) {
        return InputError("weights of layer '{}': {}", layer.name(), blob.error().message);
      }
      blobs.push_back(std::move(*blob));
    }
    weights[layer.name()] = std::move(blobs);
  }
  return {};
}

}  // namespace

Status ReadNet(const std::filesystem::path& path, format::Net& net) {
  constexpr uintmax_t kMost = uintmax_t{64} << 20;
  TENON_ASSIGN_OR_RETURN(const std::string text,
                         ReadModelBytes(path, kMost, "over 64 MiB; a network's text is smaller"));
  Findings findings;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&findings);
  parser.AllowUnknownField(true);
  parser.SetRecursionLimit(16);
  const bool parsed = parser.ParseFromString(text, &net);
  TENON_RETURN_IF_ERROR(findings.Told(path));
  if (!parsed) return InputError("{}: no text of a Caffe network", path.string());
  if (net.layers_size() > 0) {
    return InputError(
        "{}: in the format before 2014 ('layers'); Caffe's upgrade_net_proto_text turns it into "
        "the present one",
        path.string());
  }
  if (net.layer_size() == 0) return InputError("{}: the network has no layers", path.string());
  return {};
}

Result<WeightsByLayer> ReadWeights(const std::filesystem::path& path) {
  TENON_ASSIGN_OR_RETURN(const std::string bytes,
                         ReadModelBytes(path, INT32_MAX, "over 2 GB, which the format has not"));
  format::Weights stored;
  if (!stored.ParseFromString(bytes)) {
    return InputError("{}: malformed, or cut short: no weights of Caffe", path.string());
  }
  WeightsByLayer weights;
  Status read = ReadLayers(stored.layers(), weights);
  if (read.ok()) read = ReadLayers(stored.layer(), weights);
  if (!read.ok()) return InputError("{}: {}", path.string(), read.error().message);
  if (weights.empty()) return InputError("{}: no layer has weights", path.string());
  return weights;
}

}  // namespace tenon::converter::caffe
