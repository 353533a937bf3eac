#include "converter/import/onnx/onnx_import.hpp"

#include <google/protobuf/stubs/logging.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <exception>
#include <memory>
#include <new>

#include "converter/import/import_graph.hpp"
#include "converter/import/onnx/functions.hpp"
#include "converter/import/onnx/importer.hpp"
#include "converter/import/onnx/model_file.hpp"
#include "converter/import/onnx/subgraphs.hpp"

namespace tenon::converter {
namespace {

Result<std::shared_ptr<onnx::ModelProto>> LoadChecked(const std::filesystem::path& path,
                                                      const ImportOptions& options) {
  TENON_ASSIGN_OR_RETURN(auto model, ReadModel(path));
  TENON_RETURN_IF_ERROR(InlineFunctions(*model, ConstantLimit(options, DiskBytes(path))));
  TENON_RETURN_IF_ERROR(CheckModel(*model, path.parent_path()));
  HoistInitializers(*model);
  TENON_RETURN_IF_ERROR(SortNodes(*model));
  return model;
}

Result<Graph> Finish(Importer& importer) {
  TENON_RETURN_IF_ERROR(Verify(importer.graph()));
  return std::move(importer.graph());
}

/// Runs `body`; what libonnx, protobuf and the allocator throw becomes an error here.
template <typename Body>
Result<Graph> Guarded(const std::filesystem::path& path, Body body) {
  const google::protobuf::LogSilencer silence;
  try {
    Result<Graph> graph = body();
    if (graph.ok()) return graph;
    Error error = graph.error();
    const std::string prefix = path.string() + ": ";
    const bool about_file = error.kind == ErrorKind::kInput && !error.message.starts_with(prefix);
    if (about_file) error.message.insert(0, prefix);
    return error;
  } catch (const std::bad_alloc&) {
    return InputError("{}: the model needs more memory than there is", path.string());
  } catch (const std::exception& exception) {
    return InputError("{}: {}", path.string(), exception.what());
  }
}

std::string Describe(int element_type, const onnx::TensorShapeProto& shape) {
  const auto dtype = DTypeFromOnnx(element_type);
  std::string text = dtype.ok() ? DTypeName(*dtype) : "?";
  for (const auto& dim : shape.dim()) text += fmt::format(" {}", dim.dim_value());
  return text;
}

std::string Describe(const Tensor& tensor) {
  std::string text = DTypeName(tensor.dtype);
  for (int32_t i = 0; i < tensor.shape.rank; ++i) text += fmt::format(" {}", tensor.shape[i]);
  return text;
}

/// Gives the graph inputs the dims that were imported and forgets every other shape, so that
/// libonnx infers them all anew.
void ForgetShapes(onnx::ModelProto& model, const Importer& importer, const Graph& graph) {
  auto& proto = *model.mutable_graph();
  proto.clear_value_info();
  for (auto& output : *proto.mutable_output()) {
    output.mutable_type()->mutable_tensor_type()->clear_shape();
  }
  for (auto& input : *proto.mutable_input()) {
    const auto found = importer.values().find(input.name());
    if (found == importer.values().end()) continue;
    auto& shape = *input.mutable_type()->mutable_tensor_type()->mutable_shape();
    shape.clear_dim();
    const Shape& ours = graph.tensor(found->second).shape;
    for (int32_t i = 0; i < ours.rank; ++i) shape.add_dim()->set_dim_value(ours[i]);
  }
}

void CompareShapes(onnx::ModelProto& model, const Importer& importer, const Graph& graph,
                   std::vector<std::string>& differences) {
  ForgetShapes(model, importer, graph);
  onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(), {false, 0, true});
  const auto compare = [&](const onnx::ValueInfoProto& value) {
    const auto found = importer.values().find(value.name());
    if (found == importer.values().end() || !value.type().tensor_type().has_shape()) return;
    const onnx::TensorShapeProto& shape = value.type().tensor_type().shape();
    for (const auto& dim : shape.dim()) {
      if (!dim.has_dim_value()) return;
    }
    const std::string theirs = Describe(value.type().tensor_type().elem_type(), shape);
    const std::string ours = Describe(graph.tensor(found->second));
    if (theirs != ours) {
      differences.push_back(fmt::format("{}: {} here, {} in libonnx", value.name(), ours, theirs));
    }
  };
  for (const auto& value : model.graph().value_info()) compare(value);
  for (const auto& value : model.graph().output()) compare(value);
}

}  // namespace

Result<Graph> ImportOnnx(const std::filesystem::path& path, const ImportOptions& options,
                         const ConstantFolder& fold) {
  return Guarded(path, [&]() -> Result<Graph> {
    TENON_ASSIGN_OR_RETURN(const auto model, LoadChecked(path, options));
    Importer importer(*model, path, options, fold);
    TENON_RETURN_IF_ERROR(importer.Run());
    return Finish(importer);
  });
}

Result<Graph> ImportOnnxCrossChecked(const std::filesystem::path& path,
                                     const ImportOptions& options, const ConstantFolder& fold,
                                     std::vector<std::string>& differences) {
  return Guarded(path, [&]() -> Result<Graph> {
    TENON_ASSIGN_OR_RETURN(const auto model, LoadChecked(path, options));
    Importer importer(*model, path, options, fold);
    TENON_RETURN_IF_ERROR(importer.Run());
    CompareShapes(*model, importer, importer.graph(), differences);
    return Finish(importer);
  });
}

}  // namespace tenon::converter
