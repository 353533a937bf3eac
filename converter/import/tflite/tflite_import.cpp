#include "converter/import/tflite/tflite_import.hpp"

#include <array>
#include <fstream>
#include <new>
#include <string_view>

#include "converter/import/import_graph.hpp"
#include "converter/import/tflite/importer.hpp"
#include "converter/import/tflite/model_file.hpp"
#include "converter/readable.hpp"

namespace tenon::converter {
namespace {

Result<Graph> Import(const tflite::ModelFile& file, const ImportOptions& options,
                     const ConstantFolder& fold, int64_t model_bytes) {
  TENON_RETURN_IF_ERROR(tflite::CheckModel(*file.model, file.bytes.size()));
  const ImportOptions named = tflite::WithPortNames(*file.model, options);
  tflite::Importer importer(*file.model, named, fold);
  importer.graph().constant_limit = ConstantLimit(options, model_bytes);
  TENON_RETURN_IF_ERROR(importer.Run());
  TENON_RETURN_IF_ERROR(Verify(importer.graph()));
  return std::move(importer.graph());
}

}  // namespace

Result<Graph> ImportTflite(const std::filesystem::path& path, const ImportOptions& options,
                           const ConstantFolder& fold) {
  try {
    TENON_ASSIGN_OR_RETURN(const auto file, tflite::ReadModelFile(path));
    Result<Graph> graph = Import(*file, options, fold, DiskBytes(path));
    if (graph.ok() || graph.error().kind != ErrorKind::kInput) return graph;
    Error error = graph.error();
    error.message.insert(0, path.string() + ": ");
    return error;
  } catch (const std::bad_alloc&) {
    return InputError("{}: the model needs more memory than there is", path.string());
  }
}

bool LooksLikeTflite(const std::filesystem::path& path) {
  std::array<char, 8> start{};
  std::error_code error;
  // Reading what says that it is shorter might wait: /proc has such files.
  if (WhyUnreadable(path) || std::filesystem::file_size(path, error) < start.size()) return false;
  std::ifstream stream(path, std::ios::binary);
  if (!stream.read(start.data(), start.size())) return false;
  return std::string_view(start.data() + 4, 4) == "TFL3";
}

}  // namespace tenon::converter
