#include "sdk/tools/files.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "converter/readable.hpp"
#include "sdk/tools/tool.hpp"

namespace tenon::tool {

std::ifstream OpenToRead(const std::filesystem::path& path) {
  if (const auto reason = WhyUnreadable(path)) Fail(kInputRefused, "{}", *reason);
  std::ifstream file(path, std::ios::binary);
  if (!file) Fail(kInputRefused, "{}: cannot be read: {}", path.string(), std::strerror(errno));
  return file;
}

namespace {

/// Files of /proc say that they are empty, and others can grow: what is there is read, in one piece
/// of memory where the size is known.
template <typename Byte>
std::vector<Byte> ReadAs(const std::filesystem::path& path) {
  constexpr size_t kAtOnce = size_t{1} << 16;
  std::ifstream file = OpenToRead(path);
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  std::vector<Byte> bytes;
  if (!error) bytes.reserve(static_cast<size_t>(size));
  std::vector<char> part(kAtOnce);
  while (file) {
    file.read(part.data(), static_cast<std::streamsize>(part.size()));
    const auto* begin = reinterpret_cast<const Byte*>(part.data());
    bytes.insert(bytes.end(), begin, begin + file.gcount());
  }
  return bytes;
}

}  // namespace

std::vector<uint8_t> ReadFile(const std::filesystem::path& path) { return ReadAs<uint8_t>(path); }

std::vector<std::byte> ReadBytes(const std::filesystem::path& path) {
  return ReadAs<std::byte>(path);
}

}  // namespace tenon::tool
