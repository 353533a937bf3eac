#include "converter/board/board.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

namespace tenon::converter {
namespace {

using Json = nlohmann::json;

Json SmallBoard() {
  return Json::parse(R"({
    "name": "small",
    "units": [{"name": "core", "backend": "cpu", "kind": "cpu", "threads": 2,
               "multiply_accumulates_per_second": {"f32": 1e9}, "elementary_ops_per_second": 1e8}],
    "memory_spaces": [{"name": "flash", "bytes": 4096, "constants": true},
                      {"name": "ram", "bytes": 1000, "reserve_bytes": 24, "arena": true}],
    "links": [],
    "priorities": [{"backend": "cpu", "op": "*", "priority": 1}]
  })");
}

/// Checks that the board is refused as the user's mistake, with these words among its message.
void CheckRefused(const Json& json, std::string_view words) {
  const auto board = ParseBoard(json.dump(), "test");
  REQUIRE_FALSE(board.ok());
  CHECK(board.error().kind == ErrorKind::kUsage);
  CHECK(board.error().message.find("board 'test':") == 0);
  CHECK_MESSAGE(board.error().message.find(words) != std::string::npos, board.error().message);
}

TEST_CASE("ParseBoard: reads what the file says") {
  const auto board = ParseBoard(SmallBoard().dump(), "test");
  REQUIRE(board.ok());
  CHECK(board->name == "small");
  REQUIRE(board->units.size() == 1);
  CHECK(board->units[0].threads == 2);
  CHECK_FALSE(board->units[0].portable_kernels_only);
  CHECK(board->units[0].multiply_accumulates_per_second.at("f32") == 1e9);
  REQUIRE(board->ArenaSpace() != nullptr);
  CHECK(board->ArenaSpace()->name == "ram");
  CHECK(board->ArenaSpace()->usable_bytes() == 976);
  CHECK(board->ArenaSpace()->alignment_bytes == 64);
  CHECK(board->priorities.size() == 1);
}

TEST_CASE("ParseBoard: text that is not JSON, or no object, is refused") {
  for (const char* text : {"", "{", "[1,]", "nonsense", "\xff\xfe"}) {
    const auto board = ParseBoard(text, "test");
    REQUIRE_FALSE(board.ok());
    CHECK(board.error().message.find("is not valid JSON") != std::string::npos);
  }
  for (const char* text : {"[]", "3", "null", "\"x86-64\""}) {
    const auto board = ParseBoard(text, "test");
    REQUIRE_FALSE(board.ok());
    CHECK(board.error().message.find("is not an object") != std::string::npos);
  }
}

TEST_CASE("ParseBoard: an unknown key is refused wherever it stands") {
  Json board = SmallBoard();
  board["nmae"] = "x";
  CheckRefused(board, "unknown key 'nmae'");
  board = SmallBoard();
  board["units"][0]["thread"] = 1;
  CheckRefused(board, "units[0] has the unknown key 'thread'");
  board = SmallBoard();
  board["memory_spaces"][1]["size"] = 1;
  CheckRefused(board, "memory_spaces[1] has the unknown key 'size'");
}

TEST_CASE("ParseBoard: every required key that is missing is named") {
  for (const char* key : {"name", "units", "memory_spaces", "links", "priorities"}) {
    Json board = SmallBoard();
    board.erase(key);
    CheckRefused(board, key);
  }
  for (const char* key : {"name", "backend", "kind", "threads", "multiply_accumulates_per_second",
                          "elementary_ops_per_second"}) {
    Json board = SmallBoard();
    board["units"][0].erase(key);
    CheckRefused(board, key);
  }
}

TEST_CASE("ParseBoard: values of a wrong type are refused by name") {
  Json board = SmallBoard();
  for (const Json& wrong : {Json(3), Json(), Json::array(), Json(true)}) {
    board["name"] = wrong;
    CheckRefused(board, "'name'");
  }
  for (const Json& wrong : {Json("2"), Json(true), Json(1.5), Json(3000000000), Json(-1e30)}) {
    board = SmallBoard();
    board["units"][0]["threads"] = wrong;
    CheckRefused(board, "'threads'");
  }
  board = SmallBoard();
  board["units"][0]["multiply_accumulates_per_second"]["f32"] = "fast";
  CheckRefused(board, "'multiply_accumulates_per_second'");
  board = SmallBoard();
  board["units"] = 3;
  CheckRefused(board, "'units'");
  board = SmallBoard();
  board["units"][0] = 3;
  CheckRefused(board, "units[0] is not an object");
}

TEST_CASE("ParseBoard: values out of range are refused") {
  const auto with_space = [](const char* key, const Json& value) {
    Json board = SmallBoard();
    board["memory_spaces"][1][key] = value;
    return board;
  };
  CheckRefused(with_space("bytes", -1), "below 0");
  CheckRefused(with_space("bytes", 1e30), "'bytes'");
  CheckRefused(with_space("bytes", 18446744073709551615U), "'bytes'");
  CheckRefused(with_space("reserve_bytes", 1001), "'reserve_bytes'");
  CheckRefused(with_space("alignment_bytes", 48), "power of two");
  CheckRefused(with_space("alignment_bytes", 0), "power of two");
  CheckRefused(with_space("alignment_bytes", -64), "'alignment_bytes'");
  CheckRefused(with_space("alignment_bytes", 4294967360), "'alignment_bytes'");
  Json board = SmallBoard();
  board["units"][0]["threads"] = 0;
  CheckRefused(board, "'threads' below 1");
  board["units"][0]["threads"] = 1;
  board["units"][0]["elementary_ops_per_second"] = 0;
  CheckRefused(board, "'elementary_ops_per_second'");
  board = SmallBoard();
  board["units"][0]["kernels"] = "fast";
  CheckRefused(board, "'kernels'");
}

TEST_CASE("ParseBoard: a board has units and exactly one space for the arena") {
  Json board = SmallBoard();
  board["units"] = Json::array();
  CheckRefused(board, "has no units");
  board = SmallBoard();
  board["memory_spaces"][1]["arena"] = false;
  CheckRefused(board, "has 0 memory spaces with \"arena\": true");
  board["memory_spaces"][0]["arena"] = true;
  board["memory_spaces"][1]["arena"] = true;
  CheckRefused(board, "has 2 memory spaces with \"arena\": true");
}

TEST_CASE("ParseBoard: the fingerprint is of what the file says, not of how it is written") {
  const Json json = SmallBoard();
  const auto board = ParseBoard(json.dump(), "test");
  const auto spaced = ParseBoard(json.dump(4), "elsewhere");
  REQUIRE(board.ok());
  REQUIRE(spaced.ok());
  CHECK(board->fingerprint == spaced->fingerprint);
  Json changed = json;
  changed["units"][0]["threads"] = 3;
  const auto other = ParseBoard(changed.dump(), "test");
  REQUIRE(other.ok());
  CHECK(other->fingerprint != board->fingerprint);
}

TEST_CASE("ParseBoard: the fingerprint is FNV-1a of the canonical text") {
  uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : SmallBoard().dump()) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  }
  CHECK(ParseBoard(SmallBoard().dump(2), "test")->fingerprint == hash);
}

TEST_CASE("BuiltInBoards: every file of sdk/boards is built in and valid") {
  const char* source = std::getenv("TENON_SOURCE_DIR");
  const std::filesystem::path folder =
      std::filesystem::path(source != nullptr ? source : ".") / "sdk" / "boards";
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

TEST_CASE("LoadBoard: a name that is neither built in nor a file lists what there is") {
  const auto board = LoadBoard("no-such-board");
  REQUIRE_FALSE(board.ok());
  CHECK(board.error().kind == ErrorKind::kUsage);
  CHECK(board.error().message.find("x86-64") != std::string::npos);
  CHECK_FALSE(LoadBoard(std::filesystem::temp_directory_path().string()).ok());
}

TEST_CASE("FindSpace: by name, or null") {
  auto board = ParseBoard(SmallBoard().dump(), "test");
  REQUIRE(board.ok());
  REQUIRE(board->FindSpace("flash") != nullptr);
  CHECK(board->FindSpace("flash")->bytes == 4096);
  CHECK(board->FindSpace("vram") == nullptr);
}

}  // namespace
}  // namespace tenon::converter
