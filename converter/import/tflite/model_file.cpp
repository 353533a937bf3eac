#include "converter/import/tflite/model_file.hpp"

#include <flatbuffers/flatbuffers.h>

#include <fstream>

#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

Result<std::vector<uint8_t>> ReadBytes(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (error || !std::filesystem::exists(status)) {
    return InputError("{}: no such file", path.string());
  }
  if (!std::filesystem::is_regular_file(status)) {
    return InputError("{}: not a regular file", path.string());
  }
  const uintmax_t size = std::filesystem::file_size(path, error);
  if (error) return InputError("{}: {}", path.string(), error.message());
  if (size == 0) return InputError("{}: the file is empty", path.string());
  if (size >= FLATBUFFERS_MAX_BUFFER_SIZE) {
    return InputError("{}: over 2 GB; weights outside the FlatBuffer are not supported",
                      path.string());
  }
  std::ifstream stream(path, std::ios::binary);
  std::vector<uint8_t> bytes(static_cast<size_t>(size));
  if (!stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size))) {
    return InputError("{}: cannot be read", path.string());
  }
  return bytes;
}

}  // namespace

Result<std::shared_ptr<const ModelFile>> ReadModelFile(const std::filesystem::path& path) {
  auto file = std::make_shared<ModelFile>();
  TENON_ASSIGN_OR_RETURN(file->bytes, ReadBytes(path));
  // Models have neither deep tables nor more tables than bytes.
  flatbuffers::Verifier verifier(
      file->bytes.data(), file->bytes.size(), /*max_depth=*/16,
      /*max_tables=*/static_cast<flatbuffers::uoffset_t>(file->bytes.size()));
  if (file->bytes.size() < 8 || !format::ModelBufferHasIdentifier(file->bytes.data())) {
    return InputError("{}: not a TFLite model (it does not say TFL3)", path.string());
  }
  if (!format::VerifyModelBuffer(verifier)) {
    return InputError("{}: malformed, or cut short (an offset leads out of the file)",
                      path.string());
  }
  file->model = format::GetModel(file->bytes.data());
  return std::shared_ptr<const ModelFile>(std::move(file));
}

}  // namespace tenon::converter::tflite
