// The boards that are built in, and the JSON schema beside them.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "converter/board/board.hpp"
#include "runtime/base/dtype.hpp"
#include "runtime/ops/host/op_table.hpp"

namespace tenon::converter {
namespace {

using Json = nlohmann::json;

std::filesystem::path SdkFolder() {
  const char* source = std::getenv("TENON_SOURCE_DIR");
  return std::filesystem::path(source != nullptr ? source : ".") / "sdk";
}

/// The schema that the build has made and an install copies.
std::filesystem::path SchemaFile() {
  const char* build = std::getenv("TENON_BINARY_DIR");
  return std::filesystem::path(build != nullptr ? build : ".") / "sdk/schema/board.schema.json";
}

/// The names in an enumeration of the JSON schema.
std::set<std::string> Enumerated(const Json& names) { return names.get<std::set<std::string>>(); }

TEST_CASE("The JSON schema lists the op kinds and dtypes that there are") {
  std::ifstream file(SchemaFile());
  const Json schema = Json::parse(file);
  std::set<std::string> kinds;
  for (int i = 0; i < kOpKindCount; ++i) kinds.insert(GetOpRow(static_cast<OpKind>(i)).name);
  CHECK(Enumerated(schema["definitions"]["op"]["enum"]) == kinds);
  std::set<std::string> dtypes;
  for (int i = 0; i < kDTypeCount; ++i) dtypes.insert(DTypeName(static_cast<DType>(i)));
  const Json& unit = schema["properties"]["units"]["items"]["properties"];
  CHECK(Enumerated(unit["multiply_accumulates_per_second"]["propertyNames"]["enum"]) == dtypes);
}

TEST_CASE("npu-3unit: the figures are those that were fixed") {
  const auto board = LoadBoard("npu-3unit");
  REQUIRE_MESSAGE(board.ok(), board.error().message);
  REQUIRE(board->units.size() == 3);
  const Unit& matrix = *board->FindUnit("matrix");
  CHECK(matrix.multiply_accumulates_per_second.at("i8") == 1.0e12);
  CHECK(matrix.multiply_accumulates_per_second.at("f32") == 0.25e12);
  CHECK(matrix.depthwise_fraction == 1.0 / 8);
  CHECK(matrix.launch_overhead_us == 0.3);
  const Unit& vector = *board->FindUnit("vector");
  CHECK(vector.elementary_ops_per_second == 64e9);
  CHECK(vector.launch_overhead_us == 0.3);
  CHECK(board->ArenaSpace()->name == "sram");
  CHECK(board->ArenaSpace()->usable_bytes() == 2 * 1024 * 1024);
  CHECK(board->ArenaSpace()->bandwidth_bytes_per_second == 256e9);
  CHECK_FALSE(board->ArenaSpace()->shared);
  const MemorySpace& ddr = *board->FindSpace("ddr");
  CHECK(ddr.bytes == 512 * 1024 * 1024);
  CHECK((ddr.spill && ddr.stage_constants && ddr.holds_constants));
  for (const Link& link : board->links) {
    CHECK(link.unit == "dma");
    CHECK(link.bandwidth_bytes_per_second == 16e9);
    CHECK(link.latency_ns + 1000 * board->FindUnit("dma")->launch_overhead_us == 500);
  }
}

TEST_CASE("BuiltInBoards: every file of sdk/boards is built in and valid") {
  const std::filesystem::path folder = SdkFolder() / "boards";
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") names.insert(entry.path().stem().string());
  }
  REQUIRE_FALSE(names.empty());
  std::set<std::string> built_in;
  for (const Board& board : BuiltInBoards()) built_in.insert(board.name);
  CHECK(built_in == names);
  for (const std::string& name : names) {
    const auto by_name = LoadBoard(name);
    const auto by_path = LoadBoard((folder / (name + ".json")).string());
    REQUIRE_MESSAGE(by_name.ok(), by_name.error().message);
    REQUIRE(by_path.ok());
    CHECK(by_name->fingerprint == by_path->fingerprint);
  }
}

TEST_CASE("BuiltInBoards: each has a line for people and says where its figures come from") {
  for (const Board& board : BuiltInBoards()) {
    CHECK_MESSAGE(!board.description.empty(), board.name);
    CHECK_MESSAGE(board.description.find('\n') == std::string::npos, board.name);
    CHECK_MESSAGE(!board.source.empty(), board.name);
  }
}

TEST_CASE("LoadBoard: a name that is neither built in nor a file lists what there is") {
  const auto board = LoadBoard("no-such-board");
  REQUIRE_FALSE(board.ok());
  CHECK(board.error().kind == ErrorKind::kUsage);
  CHECK(board.error().message.find("x86-64") != std::string::npos);
  CHECK_FALSE(LoadBoard(std::filesystem::temp_directory_path().string()).ok());
}

}  // namespace
}  // namespace tenon::converter
