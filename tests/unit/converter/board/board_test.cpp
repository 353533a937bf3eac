#include "converter/board/board.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

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
  CheckRefused(with_space("bytes", 0), "'bytes' of 0");
  CheckRefused(with_space("reserve_bytes", 1001), "'reserve_bytes'");
  CheckRefused(with_space("reserve_bytes", 1000), "'reserve_bytes' that leave nothing");
  CheckRefused(with_space("alignment_bytes", 1024), "more than its 'bytes'");
  for (const int bad : {48, 0}) CheckRefused(with_space("alignment_bytes", bad), "power of two");
  CheckRefused(with_space("alignment_bytes", 4), "not between 8 and");
  CheckRefused(with_space("alignment_bytes", -64), "'alignment_bytes'");
  CheckRefused(with_space("alignment_bytes", 4294967360), "'alignment_bytes'");
  Json board = SmallBoard();
  board["units"][0]["threads"] = 0;
  CheckRefused(board, "'threads' below 1");
  board["units"][0]["threads"] = 100000;
  CheckRefused(board, "'threads' above 1024");
  board["units"][0]["threads"] = 1;
  board["units"][0]["elementary_ops_per_second"] = 0;
  CheckRefused(board, "'elementary_ops_per_second'");
  board = SmallBoard();
  board["units"][0]["kernels"] = "fast";
  CheckRefused(board, "'kernels'");
}

TEST_CASE("ParseBoard: a board may say what its processor is, and stays the same board") {
  Json json = SmallBoard();
  const auto without = ParseBoard(json.dump(), "test");
  REQUIRE(without.ok());
  CHECK(without->architecture.empty());
  for (const char* architecture : kArchitectures) {
    json["architecture"] = architecture;
    const auto board = ParseBoard(json.dump(), "test");
    REQUIRE(board.ok());
    CHECK(board->architecture == architecture);
    CHECK(board->fingerprint == without->fingerprint);
  }
  json["architecture"] = "x86_64";
  CheckRefused(json, "has an 'architecture' of 'x86_64', which is none of x86-64, aarch64");
}

TEST_CASE("ParseBoard: a unit may name the instruction set whose kernels it runs") {
  for (const char* set : {"helium", "dsp"}) {
    Json json = SmallBoard();
    json["units"][0]["kernels"] = set;
    const auto board = ParseBoard(json.dump(), "b.json");
    REQUIRE(board.ok());
    CHECK(board->units[0].portable_kernels_only);
    CHECK(board->units[0].kernel_set == set);
  }
}

TEST_CASE("ParseBoard: a graphics card's kernels are for OpenCL units alone") {
  Json json = SmallBoard();
  json["units"][0]["kernels"] = "gpu";
  CheckRefused(json, "has 'kernels' \"gpu\", which only backend \"opencl\" has");
  const auto board = LoadBoard("x86-64-gpu");
  REQUIRE(board.ok());
  CHECK(board->FindUnit("opencl")->kernel_set == "gpu");
  CHECK(board->FindUnit("cpu")->kernel_set == "");
}

TEST_CASE("ParseBoard: a board has a space for constants") {
  Json board = SmallBoard();
  board["memory_spaces"][0]["constants"] = false;
  CheckRefused(board, "no memory space with \"constants\": true");
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

/// A chip with two memories and the unit between them.
Json ChipBoard() {
  return Json::parse(R"({
    "name": "chip",
    "units": [{"name": "mover", "backend": "cpu", "kind": "dma", "threads": 1},
              {"name": "grid", "backend": "cpu", "kind": "matrix", "threads": 1,
               "multiply_accumulates_per_second": {"i8": 4e9}, "elementary_ops_per_second": 1e8,
               "portable_multiply_accumulates_per_second": {"i8": 2e8},
               "moved_elements_per_second": 3e8,
               "depthwise_fraction": 0.25, "ops": ["conv", "matmul"], "runs_from": "sram",
               "port_bytes_per_second": 3e9}],
    "memory_spaces": [{"name": "sram", "bytes": 4096, "arena": true, "shared": true,
                       "bandwidth_bytes_per_second": 8e9},
                      {"name": "ddr", "bytes": 65536, "constants": true, "spill": true,
                       "stage_constants": true}],
    "links": [{"from": "ddr", "to": "sram", "unit": "mover", "bandwidth_bytes_per_second": 1e9},
              {"from": "sram", "to": "ddr", "unit": "mover", "bandwidth_bytes_per_second": 2e9}],
    "priorities": [{"backend": "cpu", "op": "conv", "priority": 1}],
    "splitting": {"most_parts": 16, "smallest_part_rows": 4, "channel_multiple": 8},
    "preferred_layout": "row_major"
  })");
}

TEST_CASE("ParseBoard: reads what describes a chip of several units and memories") {
  const auto board = ParseBoard(ChipBoard().dump(), "test");
  REQUIRE_MESSAGE(board.ok(), board.error().message);
  CHECK(board->units[0].IsTransferOnly());
  CHECK_FALSE(board->units[1].IsTransferOnly());
  CHECK(board->units[1].portable_multiply_accumulates_per_second.at("i8") == 2e8);
  CHECK(board->units[1].moved_elements_per_second == 3e8);
  CHECK(board->units[1].depthwise_fraction == 0.25);
  CHECK(board->units[1].ops == std::vector<std::string>{"conv", "matmul"});
  CHECK(board->units[1].runs_from == "sram");
  CHECK(board->units[1].port_bytes_per_second == 3e9);
  const MemorySpace& sram = board->memory_spaces[0];
  const MemorySpace& ddr = board->memory_spaces[1];
  CHECK((sram.shared && !sram.spill && !sram.stage_constants));
  CHECK((!ddr.shared && ddr.spill && ddr.stage_constants));
  CHECK(board->links[0].unit == "mover");
  CHECK(board->splitting.most_parts == 16);
  CHECK(board->splitting.smallest_part_rows == 4);
  CHECK(board->splitting.channel_multiple == 8);
  CHECK(board->preferred_layout == "row_major");
}

TEST_CASE("ParseBoard: what a board does not say has the struct's default") {
  const auto board = ParseBoard(SmallBoard().dump(), "test");
  REQUIRE(board.ok());
  const Unit& unit = board->units[0];
  CHECK(unit.portable_multiply_accumulates_per_second.empty());
  CHECK(unit.moved_elements_per_second == 0);
  CHECK(unit.depthwise_fraction == 1);
  CHECK((unit.ops.empty() && unit.runs_from.empty() && unit.port_bytes_per_second == 0));
  const MemorySpace& space = board->memory_spaces[1];
  CHECK_FALSE((space.spill || space.stage_constants || space.shared));
  CHECK(board->splitting.most_parts == 256);
  CHECK(board->splitting.smallest_part_rows == 1);
  CHECK(board->splitting.channel_multiple == 1);
  CHECK(board->preferred_layout == "channels_last");
}

TEST_CASE("ParseBoard: a unit's figures and op kinds are checked") {
  const auto with_unit = [](const char* key, const Json& value) {
    Json board = ChipBoard();
    board["units"][1][key] = value;
    return board;
  };
  CheckRefused(with_unit("name", ""), "units[1] has an empty 'name'");
  CheckRefused(with_unit("name", "mover"), "two units called 'mover'");
  CheckRefused(with_unit("depthwise_fraction", 0), "'depthwise_fraction'");
  CheckRefused(with_unit("depthwise_fraction", 1.5), "'depthwise_fraction'");
  CheckRefused(with_unit("launch_overhead_us", -1), "'launch_overhead_us'");
  CheckRefused(with_unit("port_bytes_per_second", -1), "'port_bytes_per_second'");
  CheckRefused(with_unit("ops", {"conv", "convolve"}), "unknown op kind 'convolve' in 'ops'");
  CheckRefused(with_unit("ops", "conv"), "'ops' of the wrong type");
  CheckRefused(with_unit("multiply_accumulates_per_second", {{"int8", 1e9}}),
               "unknown dtype 'int8'");
  CheckRefused(with_unit("multiply_accumulates_per_second", {{"i8", 0}}), "rate for i8");
  CheckRefused(with_unit("portable_multiply_accumulates_per_second", {{"i8", -1}}),
               "rate for i8 of 0 or less in 'portable_multiply_accumulates_per_second'");
  CheckRefused(with_unit("depthwise_multiply_accumulates_per_second", {{"i8", 0}}),
               "rate for i8 of 0 or less in 'depthwise_multiply_accumulates_per_second'");
  CheckRefused(with_unit("depthwise_products_per_row", {{"i8", -1}}), "per_row'");
  CheckRefused(with_unit("cache_bytes_per_second", 1e9), "'cache_bytes_per_second'");
  CheckRefused(with_unit("shared_cache_bytes", 1024), "'shared_cache_bytes_per_second'");
  CheckRefused(with_unit("shared_cache_bytes_per_second", -1e9), "'shared_cache_bytes_per_second'");
  CheckRefused(with_unit("moved_elements_per_second", -1), "'moved_elements_per_second'");
  CheckRefused(with_unit("kind", "dma"), "no unit but those of kind \"dma\"");
  CheckRefused(with_unit("runs_from", "flash"), "'runs_from' of 'flash', which is no memory space");
  CheckRefused(with_unit("runs_from", "ddr"), "'runs_from' of 'ddr', which has \"spill\": true");
}

TEST_CASE("ParseBoard: memory spaces and links must fit together") {
  const auto with_space = [](int index, const char* key, const Json& value) {
    Json board = ChipBoard();
    board["memory_spaces"][static_cast<size_t>(index)][key] = value;
    return board;
  };
  CheckRefused(with_space(1, "name", "sram"), "two memory spaces called 'sram'");
  CheckRefused(with_space(0, "bandwidth_bytes_per_second", -1), "'bandwidth_bytes_per_second'");
  CheckRefused(with_space(0, "latency_ns", -1), "'latency_ns'");
  CheckRefused(with_space(0, "spill", true), "\"spill\": true");
  CheckRefused(with_space(1, "constants", false), "\"stage_constants\": true without");
  CheckRefused(with_space(1, "shared", 1), "'shared' of the wrong type");
  Json board = ChipBoard();
  board["memory_spaces"].push_back({{"name", "far"}, {"bytes", 1024}, {"spill", true}});
  CheckRefused(board, "2 memory spaces with \"spill\": true");
  board = ChipBoard();
  board["links"].erase(1);
  CheckRefused(board, "\"spill\": true for 'ddr' without links");
  board = ChipBoard();
  board["links"][1].erase("unit");
  CheckRefused(board, "\"spill\": true for 'ddr', but its links name no 'unit'");
  board["memory_spaces"][1]["spill"] = false;
  CHECK(ParseBoard(board.dump(), "test").ok());
  board["links"].erase(0);
  CheckRefused(board, "\"stage_constants\": true for 'ddr' without a link to 'sram'");
}

/// SmallBoard with a space beside the arena's that ops work in too.
Json DirectBoard() {
  Json board = SmallBoard();
  board["memory_spaces"].push_back(
      {{"name", "psram"}, {"bytes", 65536}, {"bandwidth_bytes_per_second", 1e8}, {"direct", true}});
  return board;
}

TEST_CASE("ParseBoard: a space beside the arena's may be one that ops work in too") {
  const auto board = ParseBoard(DirectBoard().dump(), "test");
  REQUIRE_MESSAGE(board.ok(), board.error().message);
  REQUIRE(board->DirectSpace() != nullptr);
  CHECK(board->DirectSpace()->name == "psram");
  CHECK(ParseBoard(SmallBoard().dump(), "test")->DirectSpace() == nullptr);
}

TEST_CASE("ParseBoard: a direct space is one, with a bandwidth, beside the arena of one unit") {
  const auto with_space = [](const char* key, const Json& value) {
    Json board = DirectBoard();
    board["memory_spaces"].back()[key] = value;
    return board;
  };
  CheckRefused(with_space("spill", true), "\"direct\": true and \"spill\": true");
  CheckRefused(with_space("arena", true), "\"direct\": true, but ops run from where the arena is");
  CheckRefused(with_space("bandwidth_bytes_per_second", 0), "\"direct\": true without");
  Json board = DirectBoard();
  board["memory_spaces"].push_back(board["memory_spaces"].back());
  board["memory_spaces"].back()["name"] = "more";
  CheckRefused(board, "2 memory spaces with \"direct\": true");
  board = DirectBoard();
  board["units"].push_back(board["units"][0]);
  board["units"].back()["name"] = "second";
  CheckRefused(board, "\"direct\": true for 'psram', which is for boards of one unit");
  board = DirectBoard();
  const size_t other = board["memory_spaces"].size() - 1;
  board["units"][0]["runs_from"] = board["memory_spaces"][other]["name"];
  CheckRefused(board, "runs from elsewhere");
}

TEST_CASE("ParseBoard: a priority may be limited to ops of some kind") {
  Json json = SmallBoard();
  json["priorities"][0]["when"] = {{"dtypes", {"f32", "f16"}}, {"rank", 4},
                                   {"min_kernel", 1},          {"max_kernel", 7},
                                   {"min_channels", 8},        {"max_channels", 64},
                                   {"min_elements", 100},      {"max_elements", 5000000000}};
  const auto board = ParseBoard(json.dump(), "test");
  REQUIRE(board.ok());
  const PriorityConstraints& when = board->priorities[0].when;
  CHECK(when.dtypes == std::vector<std::string>{"f32", "f16"});
  CHECK(when.rank == 4);
  CHECK(when.min_kernel == 1);
  CHECK(when.max_kernel == 7);
  CHECK(when.min_channels == 8);
  CHECK(when.max_channels == 64);
  CHECK(when.min_elements == 100);
  CHECK(when.max_elements == 5000000000);
  const auto with = [&](const char* key, const Json& value) {
    Json changed = json;
    changed["priorities"][0]["when"][key] = value;
    return changed;
  };
  CheckRefused(with("dtypes", Json::array({"f33"})), "unknown dtype 'f33'");
  CheckRefused(with("rank", -2), "below 0");
  CheckRefused(with("min_kernel", 8), "lower bound above the upper one");
  CheckRefused(with("kernel", 3), "unknown key 'kernel'");
}

TEST_CASE("ParseBoard: without an overhead to enqueue, every op is a start") {
  Json json = SmallBoard();
  json["units"][0]["launch_overhead_us"] = 20;
  const auto start = ParseBoard(json.dump(), "test");
  REQUIRE(start.ok());
  CHECK(start->units[0].op_overhead_us() == 20);
  CHECK(start->units[0].start_overhead_us() == 0);
  json["units"][0]["enqueue_overhead_us"] = 5;
  const auto enqueued = ParseBoard(json.dump(), "test");
  REQUIRE(enqueued.ok());
  CHECK(enqueued->units[0].op_overhead_us() == 5);
  CHECK(enqueued->units[0].start_overhead_us() == 15);
  json["units"][0]["enqueue_overhead_us"] = 21;
  CheckRefused(json, "'enqueue_overhead_us' above");
  json["units"][0]["enqueue_overhead_us"] = -1;
  CheckRefused(json, "'enqueue_overhead_us' below 0");
}

TEST_CASE("ParseBoard: names in links and priorities are of things that exist") {
  const auto with_link = [](const char* key, const Json& value) {
    Json board = ChipBoard();
    board["links"].push_back(board["links"][0]);
    board["links"][2][key] = value;
    return board;
  };
  CheckRefused(with_link("from", "drr"), "links[2] has 'from' of 'drr'");
  CheckRefused(with_link("to", "drr"), "links[2] has 'to' of 'drr'");
  CheckRefused(with_link("to", "ddr"), "same space");
  CheckRefused(with_link("latency_ns", 5), "as another one does");
  CheckRefused(with_link("unit", "grid"), "links[2] has 'unit' of 'grid'");
  CheckRefused(with_link("unit", "none"), "links[2] has 'unit' of 'none'");
  CheckRefused(with_link("bandwidth_bytes_per_second", 0), "'bandwidth_bytes_per_second'");
  CheckRefused(with_link("latency_ns", -1), "'latency_ns'");
  Json board = ChipBoard();
  board["priorities"][0]["op"] = "convolve";
  CheckRefused(board, "priorities[0] has the unknown op kind 'convolve'");
  board["priorities"][0] = {{"backend", "gpu"}, {"op", "*"}, {"priority", 1}};
  CheckRefused(board, "priorities[0] has 'backend' of 'gpu', which no unit has");
  board["priorities"][0] = {{"backend", "cpu"}, {"op", "*"}, {"priority", 0}};
  CheckRefused(board, "'priority' below 1");
}

TEST_CASE("ParseBoard: splitting limits and layouts are checked") {
  for (const char* key : {"most_parts", "smallest_part_rows", "channel_multiple"}) {
    Json board = ChipBoard();
    board["splitting"][key] = 0;
    CheckRefused(board, key);
    board["splitting"][key] = 1.5;
    CheckRefused(board, key);
  }
  Json board = ChipBoard();
  board["splitting"]["parts"] = 1;
  CheckRefused(board, "splitting has the unknown key 'parts'");
  board["splitting"] = 3;
  CheckRefused(board, "splitting is not an object");
  board = ChipBoard();
  board["preferred_layout"] = "nhwc";
  CheckRefused(board, "'preferred_layout'");
}

TEST_CASE("FindSpace: by name, or null") {
  auto board = ParseBoard(SmallBoard().dump(), "test");
  REQUIRE(board.ok());
  REQUIRE(board->FindSpace("flash") != nullptr);
  CHECK(board->FindSpace("flash")->bytes == 4096);
  CHECK(board->FindSpace("vram") == nullptr);
}

TEST_CASE("Board: units know their space and port") {
  auto board = ParseBoard(ChipBoard().dump(), "test");
  REQUIRE(board.ok());
  Unit& grid = board->units[1];
  CHECK(board->SpaceOf(grid)->name == "sram");
  CHECK(board->PortBytesPerSecond(grid) == 3e9);
  grid.port_bytes_per_second = 0;
  CHECK(board->PortBytesPerSecond(grid) == 8e9);
  grid.runs_from = "";
  CHECK(board->SpaceOf(grid)->name == "sram");
  CHECK(board->FindLink("sram", "ddr")->bandwidth_bytes_per_second == 2e9);
  CHECK(board->FindLink("ddr", "ddr") == nullptr);
  CHECK(board->FindUnit("grid") == &grid);
  CHECK(board->FindUnit("gird") == nullptr);
}

TEST_CASE("ComputeUnit: the first unit of backend cpu that runs ops") {
  auto board = ParseBoard(ChipBoard().dump(), "test");
  REQUIRE(board.ok());
  CHECK(ComputeUnit(*board) == &board->units[1]);
  board->units[1].backend = "fpga";
  CHECK(ComputeUnit(*board) == nullptr);
  for (const Board& built_in : BuiltInBoards()) {
    CHECK_MESSAGE(ComputeUnit(built_in) != nullptr, built_in.name);
  }
}

}  // namespace
}  // namespace tenon::converter
