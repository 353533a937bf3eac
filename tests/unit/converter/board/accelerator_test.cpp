// What boards say of accelerators.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "converter/board/board.hpp"

using namespace tenon::converter;  // NOLINT

namespace {

nlohmann::json WithAccelerator() {
  return nlohmann::json::parse(R"({
    "name": "test",
    "units": [
      { "name": "cpu", "backend": "cpu", "kind": "cpu", "threads": 1,
        "multiply_accumulates_per_second": { "f32": 1e9 }, "elementary_ops_per_second": 1e9 },
      { "name": "fpga", "backend": "fpga", "kind": "fpga", "threads": 1,
        "multiply_accumulates_per_second": { "i8": 1e9 }, "elementary_ops_per_second": 1e9,
        "accelerator": { "name": "tenon-cnn", "input_channels": 8, "output_channels": 16,
                         "pixels": 2, "lanes": 16, "accumulator_pixels": 64, "map_bytes": 4096,
                         "weight_bytes": 2048, "clock_hz": 1e8 } }
    ],
    "memory_spaces": [{ "name": "ram", "bytes": 65536, "arena": true, "constants": true }],
    "links": [],
    "priorities": []
  })");
}

std::string Problem(const nlohmann::json& json) {
  const auto board = ParseBoard(json.dump(), "test");
  return board.ok() ? "" : board.error().message;
}

}  // namespace

TEST_CASE("ParseBoard: a unit may be an accelerator, whose configuration is read") {
  const auto board = ParseBoard(WithAccelerator().dump(), "test");
  REQUIRE(board.ok());
  const Unit* unit = AcceleratorUnit(*board);
  REQUIRE(unit == &board->units[1]);
  CHECK(unit->accelerator->name == "tenon-cnn");
  CHECK(unit->accelerator->MultiplyAccumulates() == 8 * 16 * 2);
  CHECK(unit->accelerator->lanes == 16);
  CHECK(unit->accelerator->map_bytes == 4096);
  CHECK(unit->accelerator->clock_hz == 1e8);
}

TEST_CASE("ParseBoard: an accelerator's figures are all there, and in range") {
  const nlohmann::json whole = WithAccelerator();
  for (const auto& [key, value] : whole["units"][1]["accelerator"].items()) {
    CAPTURE(key);
    nlohmann::json json = WithAccelerator();
    nlohmann::json& accelerator = json["units"][1]["accelerator"];
    accelerator.erase(key);
    CHECK(Problem(json).find("lacks the key '" + key + "'") != std::string::npos);
    if (key == "name") continue;
    accelerator[key] = 0;
    CHECK_FALSE(Problem(json).empty());
    accelerator[key] = -1;
    CHECK_FALSE(Problem(json).empty());
  }
  nlohmann::json json = WithAccelerator();
  json["units"][1]["accelerator"]["colour"] = "red";
  CHECK(Problem(json).find("unknown key 'colour'") != std::string::npos);
}

TEST_CASE("ParseBoard: an accelerator's image may be named, by its uuid's bytes") {
  nlohmann::json json = WithAccelerator();
  CHECK(AcceleratorUnit(*ParseBoard(json.dump(), "test"))->accelerator->image.empty());
  nlohmann::json& accelerator = json["units"][1]["accelerator"];
  for (const char* uuid :
       {"01000000-0200-0000-0300-0000040000ff", "010000000200000003000000040000FF"}) {
    accelerator["image_uuid"] = uuid;
    const auto board = ParseBoard(json.dump(), "test");
    REQUIRE(board.ok());
    CHECK(AcceleratorUnit(*board)->accelerator->image ==
          std::vector<uint32_t>{1, 2, 3, 0xFF000004});
  }
  for (const char* uuid :
       {"01", "0100000002000000030000000400000g", "010000000200000003000000040000 1", "-"}) {
    CAPTURE(uuid);
    accelerator["image_uuid"] = uuid;
    CHECK(Problem(json).find("'image_uuid' that is not 32 hexadecimal digits") !=
          std::string::npos);
  }
}

TEST_CASE("AcceleratorUnit: null on boards without") {
  const auto board = LoadBoard("x86-64");
  REQUIRE(board.ok());
  CHECK(AcceleratorUnit(*board) == nullptr);
}

TEST_CASE(
    "BuiltInBoards: kv260 and x86-64-fpga have the same accelerator, of 2048 MACs at 300 MHz") {
  const auto edge = LoadBoard("kv260");
  const auto card = LoadBoard("x86-64-fpga");
  REQUIRE(edge.ok());
  REQUIRE(card.ok());
  for (const Board* board : {&*edge, &*card}) {
    const Unit* unit = AcceleratorUnit(*board);
    REQUIRE(unit != nullptr);
    CHECK(unit->accelerator->MultiplyAccumulates() == 2048);
    CHECK(unit->accelerator->clock_hz == 300e6);
    CHECK(unit->multiply_accumulates_per_second.at("i8") == 2048 * 300e6);
    // 19.2 GB/s, of which 80% is sustained.
    CHECK(board->PortBytesPerSecond(*unit) == doctest::Approx(0.8 * 19.2e9));
    CHECK(board->ArenaSpace()->alignment_bytes == 4096);
  }
}
