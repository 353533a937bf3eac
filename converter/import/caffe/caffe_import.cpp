#include "converter/import/caffe/caffe_import.hpp"

#include <new>

#include "caffe_subset.pb.h"
#include "converter/import/caffe/importer.hpp"
#include "converter/import/import_graph.hpp"

namespace tenon::converter {
namespace {

Result<Graph> Import(const std::filesystem::path& path, const ImportOptions& options) {
  caffe::format::Net net;
  TENON_RETURN_IF_ERROR(caffe::ReadNet(path, net));
  std::filesystem::path weights_path = options.caffemodel;
  if (weights_path.empty()) {
    weights_path = path;
    weights_path.replace_extension(".caffemodel");
    if (!std::filesystem::exists(weights_path)) {
      return InputError("{}: its weights are not beside it as {}: give --caffemodel FILE",
                        path.string(), weights_path.filename().string());
    }
  }
  TENON_ASSIGN_OR_RETURN(const caffe::WeightsByLayer weights, caffe::ReadWeights(weights_path));
  caffe::Importer importer(net, weights, options);
  importer.graph().constant_limit =
      ConstantLimit(options, DiskBytes(path) + DiskBytes(weights_path));
  const Status status = importer.Run();
  if (!status.ok()) {
    Error error = status.error();
    if (error.kind == ErrorKind::kInput) error.message.insert(0, path.string() + ": ");
    return error;
  }
  TENON_RETURN_IF_ERROR(Verify(importer.graph()));
  return std::move(importer.graph());
}

}  // namespace

Result<Graph> ImportCaffe(const std::filesystem::path& path, const ImportOptions& options) {
  try {
    return Import(path, options);
  } catch (const std::bad_alloc&) {
    return InputError("{}: the model needs more memory than there is", path.string());
  }
}

}  // namespace tenon::converter
