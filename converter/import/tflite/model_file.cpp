#include "converter/import/tflite/model_file.hpp"

#include <flatbuffers/flatbuffers.h>

#include "converter/import/import_graph.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {

Result<std::shared_ptr<const ModelFile>> ReadModelFile(const std::filesystem::path& path) {
  auto file = std::make_shared<ModelFile>();
  TENON_ASSIGN_OR_RETURN(
      file->bytes, ReadModelBytes(path, FLATBUFFERS_MAX_BUFFER_SIZE - 1,
                                  "over 2 GB; weights outside the FlatBuffer are not supported"));
  const auto* data = reinterpret_cast<const uint8_t*>(file->bytes.data());
  // Models have neither deep tables nor more tables than bytes.
  flatbuffers::Verifier verifier(
      data, file->bytes.size(), /*max_depth=*/16,
      /*max_tables=*/static_cast<flatbuffers::uoffset_t>(file->bytes.size()));
  if (file->bytes.size() < 8 || !format::ModelBufferHasIdentifier(data)) {
    return InputError("{}: not a TFLite model (it does not say TFL3)", path.string());
  }
  if (!format::VerifyModelBuffer(verifier)) {
    return InputError("{}: malformed, or cut short (an offset leads out of the file)",
                      path.string());
  }
  file->model = format::GetModel(data);
  return std::shared_ptr<const ModelFile>(std::move(file));
}

}  // namespace tenon::converter::tflite
