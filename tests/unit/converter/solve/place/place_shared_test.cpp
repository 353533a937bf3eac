// The published hard instances, where the project's shared files are at hand: TENON_SHARED, or
// `shared` beside the source tree.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "converter/solve/place/place.hpp"
#include "converter/solve/place/place_csv.hpp"

namespace tenon::converter {
namespace {

std::vector<std::filesystem::path> Instances() {
  std::filesystem::path shared;
  if (const char* given = std::getenv("TENON_SHARED")) {
    shared = given;
  } else if (const char* source = std::getenv("TENON_SOURCE_DIR")) {
    shared = std::filesystem::path(source).parent_path() / "shared";
  }
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(shared / "graphs" / "minimalloc", error)) {
    if (entry.path().extension() == ".csv") files.push_back(entry.path());
  }
  return files;
}

TEST_CASE("Place: every published instance fits into the capacity in its file's name") {
  const std::vector<std::filesystem::path> files = Instances();
  if (files.empty()) {
    MESSAGE("skipped: no shared/graphs/minimalloc (set TENON_SHARED)");
    return;
  }
  for (const std::filesystem::path& file : files) {
    CAPTURE(file.filename().string());
    std::ifstream stream(file, std::ios::binary);
    const Result<BufferTable> table =
        ParseBufferCsv(std::string(std::istreambuf_iterator<char>(stream), {}));
    REQUIRE(table.ok());
    REQUIRE_FALSE(table->buffers.empty());
    // NAME.CAPACITY.csv
    PlaceOptions options;
    options.limit = std::stoll(file.stem().extension().string().substr(1));
    const Placement placement = PlaceBuffers(table->buffers, options);
    CHECK(IsValidPlacement(table->buffers, placement.offsets));
    CHECK(placement.peak <= *options.limit);
  }
}

}  // namespace
}  // namespace tenon::converter
