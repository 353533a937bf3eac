#include "converter/import/caffe/importer.hpp"

#include <algorithm>
#include <set>

#include "caffe_subset.pb.h"
#include "converter/import/caffe/layer.hpp"
#include "converter/import/caffe/lowering_table.hpp"
#include "converter/import/import_graph.hpp"

namespace tenon::converter::caffe {
namespace {

/// True if the layer is there when the network is used, not only when it is trained.
bool IsInTest(const format::Layer& layer) {
  const auto is_test = [](const format::Rule& rule) {
    return !rule.has_phase() || rule.phase() == format::TEST;
  };
  const auto& include = layer.include();
  const auto& exclude = layer.exclude();
  if (!include.empty()) return std::any_of(include.begin(), include.end(), is_test);
  return std::none_of(exclude.begin(), exclude.end(), is_test);
}

std::vector<int64_t> DimsOf(const format::Shape& shape) {
  return {shape.dim().begin(), shape.dim().end()};
}

}  // namespace

Importer::Importer(const format::Net& net, const WeightsByLayer& weights,
                   const ImportOptions& options)
    : net_(net), weights_(weights), options_(options) {
  graph_.name = net.name();
}

Status Importer::Run() {
  TENON_RETURN_IF_ERROR(CheckLayers());
  TENON_RETURN_IF_ERROR(AddInputs());
  TENON_RETURN_IF_ERROR(LowerLayers());
  TENON_RETURN_IF_ERROR(AddOutputs());
  EraseUnread(graph_);
  return {};
}

Result<TensorId> Importer::Value(const std::string& blob) {
  const auto found = values_.find(blob);
  if (found == values_.end()) return InputError("nothing makes its input '{}'", blob);
  return found->second;
}

const std::vector<Blob>* Importer::WeightsOf(const std::string& layer) const {
  const auto found = weights_.find(layer);
  return found == weights_.end() ? nullptr : &found->second;
}

// --- inputs
// ---------------------------------------------------------------------------------------

Status Importer::CheckOptions(const std::vector<std::string>& names) const {
  const auto check = [&](const char* option, const std::string& name) -> Status {
    if (std::find(names.begin(), names.end(), name) != names.end()) return {};
    return UsageError("--{} {}: the model has no such input (it has {})", option, name,
                      fmt::join(names, ", "));
  };
  for (const auto& [name, dims] : options_.shapes) TENON_RETURN_IF_ERROR(check("shape", name));
  for (const auto& [name, value] : options_.freeze) TENON_RETURN_IF_ERROR(check("freeze", name));
  return {};
}

Status Importer::AddInput(const std::string& name, std::vector<int64_t> dims) {
  if (options_.batch > 0 && !dims.empty()) dims[0] = options_.batch;
  if (const auto given = options_.shapes.find(name); given != options_.shapes.end()) {
    if (given->second.size() != dims.size()) {
      return UsageError("--shape {}: {} dimensions given, the model's input has {}", name,
                        given->second.size(), dims.size());
    }
    dims = given->second;
  }
  TENON_ASSIGN_OR_RETURN(const Shape shape, ShapeFromDims(dims));
  const auto frozen = options_.freeze.find(name);
  if (frozen == options_.freeze.end()) {
    Bind(name, graph_.AddTensor(name, DType::kF32, shape));
    graph_.AddInput(values_[name], name);
    return {};
  }
  if (frozen->second.dtype != DType::kF32 || !(frozen->second.shape == shape)) {
    return UsageError("--freeze {}: the array is not of the input's type f32 and shape", name);
  }
  Bind(name, graph_.AddConstant(name, DType::kF32, shape, frozen->second.bytes));
  return {};
}

/// Those that the network lists before its layers, and those of Input layers.
Status Importer::AddInputs() {
  std::vector<std::pair<std::string, std::vector<int64_t>>> inputs;
  for (int i = 0; i < net_.input_size(); ++i) {
    std::vector<int64_t> dims;
    if (i < net_.input_shape_size()) {
      dims = DimsOf(net_.input_shape(i));
    } else if (4 * i + 3 < net_.input_dim_size()) {
      dims.assign(net_.input_dim().begin() + 4 * i, net_.input_dim().begin() + 4 * i + 4);
    } else {
      return InputError("input '{}' has no shape", net_.input(i));
    }
    inputs.emplace_back(net_.input(i), dims);
  }
  for (const format::Layer& layer : net_.layer()) {
    if (layer.type() != "Input" || !IsInTest(layer)) continue;
    const auto& shapes = layer.input_param().shape();
    for (int i = 0; i < layer.top_size(); ++i) {
      if (shapes.empty()) return InputError("input '{}' has no shape", layer.top(i));
      inputs.emplace_back(layer.top(i), DimsOf(shapes[std::min(i, shapes.size() - 1)]));
    }
  }
  if (inputs.empty()) {
    return InputError(
        "the network has no inputs: layers that read data sets are for training; give the text "
        "for deployment, with 'input' or a layer of type Input");
  }
  std::vector<std::string> names;
  for (const auto& [name, dims] : inputs) {
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      return InputError("two inputs are called '{}'", name);
    }
    names.push_back(name);
  }
  TENON_RETURN_IF_ERROR(CheckOptions(names));
  for (const auto& [name, dims] : inputs) TENON_RETURN_IF_ERROR(AddInput(name, dims));
  return {};
}

// --- layers
// ---------------------------------------------------------------------------------------

/// All layers that cannot be converted, at once.
Status Importer::CheckLayers() const {
  std::map<std::string, std::vector<std::string>> unsupported;
  for (const format::Layer& layer : net_.layer()) {
    if (!IsInTest(layer) || layer.type() == "Input" || FindLowering(layer.type()) != nullptr) {
      continue;
    }
    unsupported[layer.type()].push_back(layer.name());
  }
  if (unsupported.empty()) return {};
  Error error =
      InputError("the model uses {} that cannot be converted",
                 unsupported.size() == 1 ? std::string("a layer")
                                         : fmt::format("{} kinds of layers", unsupported.size()));
  for (const auto& [type, names] : unsupported) {
    error.details.push_back(fmt::format("unsupported layer {} ({} times): {}", type, names.size(),
                                        fmt::join(names, ", ")));
  }
  return error;
}

Status Importer::LowerLayers() {
  for (const format::Layer& stored : net_.layer()) {
    if (!IsInTest(stored) || stored.type() == "Input") continue;
    Layer layer(*this, stored);
    Status status = FindLowering(stored.type())->lower(layer);
    if (status.ok()) status = CheckConstantLimit(graph_, 0, stored.name());
    if (status.ok()) continue;
    Error error = status.error();
    error.message = fmt::format("layer '{}' ({}): {}", stored.name(), stored.type(), error.message);
    return error;
  }
  return {};
}

/// Blobs that no layer reads, by name, as Caffe has them.
Status Importer::AddOutputs() {
  std::set<std::string> open;
  for (const format::Layer& layer : net_.layer()) {
    if (!IsInTest(layer) || layer.type() == "Input") continue;
    for (const std::string& bottom : layer.bottom()) open.erase(bottom);
    for (const std::string& top : layer.top()) {
      if (values_.contains(top)) open.insert(top);
    }
  }
  if (open.empty()) return InputError("the network has no outputs");
  for (const std::string& blob : open) {
    TensorId id = values_[blob];
    if (graph_.tensor(id).producer == kNone || graph_.IsOutput(id)) {
      const std::string name = blob + "/copy";
      TENON_ASSIGN_OR_RETURN(id, graph_.AddOpTensor(OpKind::kCopy, name, {id}, Attributes(), name));
    }
    graph_.AddOutput(id, blob);
  }
  return {};
}

}  // namespace tenon::converter::caffe
