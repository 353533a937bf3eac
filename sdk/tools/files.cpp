#include "sdk/tools/files.hpp"

#include "converter/readable.hpp"
#include "sdk/tools/tool.hpp"

namespace tenon::tool {
namespace {

template <typename Bytes>
Bytes ReadAs(const std::filesystem::path& path) {
  Bytes bytes;
  if (const auto reason = ReadToEnd(path, bytes)) Fail(kInputRefused, "{}", *reason);
  return bytes;
}

}  // namespace

std::vector<uint8_t> ReadFile(const std::filesystem::path& path) {
  return ReadAs<std::vector<uint8_t>>(path);
}

std::string ReadText(const std::filesystem::path& path) { return ReadAs<std::string>(path); }

std::vector<std::byte> ReadBytes(const std::filesystem::path& path) {
  return ReadAs<std::vector<std::byte>>(path);
}

}  // namespace tenon::tool
