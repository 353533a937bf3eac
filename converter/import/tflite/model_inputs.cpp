#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "converter/import/import_graph.hpp"
#include "converter/import/tflite/model_file.hpp"
#include "converter/import/tflite/model_tensors.hpp"
#include "converter/import/value_names.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

using Indices = flatbuffers::Vector<int32_t>;
using TensorMaps = flatbuffers::Vector<flatbuffers::Offset<format::TensorMap>>;

/// By tensor, the name that the model's first signature gives it; the first of several.
std::unordered_map<uint32_t, std::string> SignatureNames(const format::Model& model, bool outputs) {
  std::unordered_map<uint32_t, std::string> names;
  if (model.signature_defs() == nullptr) return names;
  for (const format::SignatureDef* signature : *model.signature_defs()) {
    if (signature == nullptr || signature->subgraph_index() != 0) continue;
    const TensorMaps* entries = outputs ? signature->outputs() : signature->inputs();
    if (entries == nullptr) return names;
    for (const format::TensorMap* entry : *entries) {
      if (entry == nullptr || entry->name() == nullptr || entry->name()->size() == 0) continue;
      names.try_emplace(entry->tensor_index(), PrintableName(entry->name()->str()));
    }
    return names;
  }
  return names;
}

Status CheckOptionNames(const std::vector<std::string>& names, const ImportOptions& options) {
  const auto check = [&](const char* option, const std::string& name) -> Status {
    if (std::find(names.begin(), names.end(), name) != names.end()) return {};
    return UsageError("--{} {}: the model has no such input (it has {})", option, name,
                      fmt::join(names, ", "));
  };
  for (const auto& [name, dims] : options.shapes) {
    TENON_RETURN_IF_ERROR(check("shape", name));
    if (options.freeze.contains(name)) return UsageError("--shape {}: that input is frozen", name);
    for (const int64_t dim : dims) {
      if (dim < 0) return UsageError("--shape {}: dimension {} is negative", name, dim);
    }
  }
  for (const auto& [name, frozen] : options.freeze) {
    TENON_RETURN_IF_ERROR(check("freeze", name));
  }
  return {};
}

/// True if the model lets the caller choose the first dimension.
bool HasOpenBatch(const format::Tensor& tensor) {
  const auto* signature = tensor.shape_signature();
  return signature != nullptr && signature->size() > 0 && signature->Get(0) == -1;
}

Result<Shape> ShapeOfInput(const format::Tensor& tensor, const std::string& name,
                           const ImportOptions& options, bool& batch_used) {
  TENON_ASSIGN_OR_RETURN(Shape shape, ReadShape(tensor));
  if (const auto found = options.shapes.find(name); found != options.shapes.end()) {
    if (static_cast<int32_t>(found->second.size()) != shape.rank) {
      return UsageError("--shape {}: {} dimensions given, the model's input has {}", name,
                        found->second.size(), shape.rank);
    }
    return ShapeFromDims(found->second);
  }
  if (options.batch > 0 && shape.rank > 0) {
    std::vector<int64_t> dims(shape.dims, shape.dims + shape.rank);
    batch_used |= dims[0] == options.batch;
    if (HasOpenBatch(tensor)) {
      batch_used = true;
      dims[0] = options.batch;
    }
    return ShapeFromDims(dims);
  }
  return shape;
}

}  // namespace

std::vector<std::string> PortNames(const format::Model& model, bool outputs) {
  const format::SubGraph& graph = *model.subgraphs()->Get(0);
  const Indices* tensors = outputs ? graph.outputs() : graph.inputs();
  const auto signature = SignatureNames(model, outputs);
  std::vector<std::string> names;
  ValueNames taken;
  for (uint32_t i = 0; tensors != nullptr && i < tensors->size(); ++i) {
    const int32_t tensor = tensors->Get(i);
    const auto named = signature.find(static_cast<uint32_t>(tensor));
    names.push_back(taken.Fresh(
        named != signature.end()
            ? named->second
            : FullNameOf(*graph.tensors()->Get(static_cast<uint32_t>(tensor)), tensor)));
  }
  return names;
}

ImportOptions WithPortNames(const format::Model& model, ImportOptions options) {
  const format::SubGraph& graph = *model.subgraphs()->Get(0);
  const std::vector<std::string> names = PortNames(model, /*outputs=*/false);
  const std::unordered_set<std::string> known(names.begin(), names.end());
  const auto rename = [&](auto& given, const std::string& from, const std::string& to) {
    auto found = given.extract(from);
    if (found.empty()) return;
    found.key() = to;
    given.insert(std::move(found));
  };
  for (size_t i = 0; i < names.size(); ++i) {
    const int32_t tensor = graph.inputs()->Get(static_cast<uint32_t>(i));
    const std::string own =
        FullNameOf(*graph.tensors()->Get(static_cast<uint32_t>(tensor)), tensor);
    if (known.contains(own)) continue;
    rename(options.shapes, own, names[i]);
    rename(options.freeze, own, names[i]);
  }
  return options;
}

Result<std::vector<Shape>> InputShapes(const format::Model& model,
                                       const std::vector<std::string>& names,
                                       const ImportOptions& options) {
  TENON_RETURN_IF_ERROR(CheckOptionNames(names, options));
  if (options.batch < 0) return UsageError("--batch {}: must be positive", options.batch);
  const format::SubGraph& graph = *model.subgraphs()->Get(0);
  std::vector<Shape> shapes;
  bool batch_used = false;
  for (size_t i = 0; i < names.size(); ++i) {
    const auto tensor = static_cast<uint32_t>(graph.inputs()->Get(static_cast<uint32_t>(i)));
    auto shape = ShapeOfInput(*graph.tensors()->Get(tensor), names[i], options, batch_used);
    if (!shape.ok()) {
      Error error = shape.error();
      if (error.kind == ErrorKind::kInput) {
        error.message = fmt::format("input '{}': {}", names[i], error.message);
      }
      return error;
    }
    shapes.push_back(*shape);
  }
  if (options.batch > 0 && !batch_used) {
    return UsageError(
        "--batch {}: no input has an open first dimension (export the model with one, or use "
        "--shape)",
        options.batch);
  }
  return shapes;
}

}  // namespace tenon::converter::tflite
