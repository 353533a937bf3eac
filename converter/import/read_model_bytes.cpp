#include "converter/import/read_model_bytes.hpp"

#include <fstream>

namespace tenon::converter {

Result<std::string> ReadModelBytes(const std::filesystem::path& path, uintmax_t most,
                                   const char* too_large) {
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
  if (size > most) return InputError("{}: {}", path.string(), too_large);
  std::ifstream stream(path, std::ios::binary);
  std::string content(static_cast<size_t>(size), '\0');
  if (!stream.read(content.data(), static_cast<std::streamsize>(size))) {
    return InputError("{}: cannot be read", path.string());
  }
  return content;
}

}  // namespace tenon::converter
