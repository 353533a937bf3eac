#include "sdk/tools/files.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "converter/readable.hpp"
#include "sdk/tools/tool.hpp"

namespace tenon::tool {

std::ifstream OpenToRead(const std::filesystem::path& path) {
  if (const auto reason = WhyUnreadable(path)) Fail(kInputRefused, "{}", *reason);
  std::ifstream file(path, std::ios::binary);
  if (!file) Fail(kInputRefused, "{}: cannot be read: {}", path.string(), std::strerror(errno));
  return file;
}

std::vector<uint8_t> ReadFile(const std::filesystem::path& path) {
  std::ifstream file = OpenToRead(path);
  return std::vector<uint8_t>(std::istreambuf_iterator<char>(file),
                              std::istreambuf_iterator<char>());
}

}  // namespace tenon::tool
