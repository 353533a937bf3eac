#include "sdk/tools/read_file.hpp"

#include <fstream>
#include <iterator>

#include "sdk/tools/tool.hpp"

namespace tenon::tool {

std::vector<uint8_t> ReadFile(const std::filesystem::path& path) {
  std::error_code ignored;
  std::ifstream file(path, std::ios::binary);
  if (!file || !std::filesystem::is_regular_file(path, ignored)) {
    Fail(kInputRefused, "cannot read '{}'", path.string());
  }
  return std::vector<uint8_t>(std::istreambuf_iterator<char>(file),
                              std::istreambuf_iterator<char>());
}

}  // namespace tenon::tool
