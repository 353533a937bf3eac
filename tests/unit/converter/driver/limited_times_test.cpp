// Limits of memory and predicted time.
#include <doctest/doctest.h>

#include <algorithm>

#include "converter/driver/pipeline.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/unit/converter/driver/conv_chain.hpp"

namespace tenon::converter {
namespace {

TEST_CASE("Fit: less memory never gives a program that is faster by more than a sixteenth") {
  const Graph graph = Parsed(R"(input %x: f32[1,3,64,64]
const %w1: f32[16,3,3,3] = random(1)
const %w2: f32[16,16,3,3] = random(2)
const %w3: f32[64,16,3,3] = random(3)
const %w4: f32[64,64,3,3] = random(4)
const %w5: f32[16,64,1,1] = random(5)
const %w6: f32[16,32,3,3] = random(6)
const %w7: f32[2,16,1,1] = random(7)
%a = conv(%x, %w1) {pads=[1,1,1,1]}
%b = conv(%a, %w2) {pads=[1,1,1,1]}
%half = max_pool(%b) {kernel=[2,2], strides=[2,2]}
%c = conv(%half, %w3) {pads=[1,1,1,1]}
%d = conv(%c, %w4) {pads=[1,1,1,1]}
%e = conv(%d, %w4) {pads=[1,1,1,1]}
%large: f32[1,64,64,64] = resize(%e) {coordinates=asymmetric, nearest=floor, sizes=[1,64,64,64], scales=[1,1,2,2]}
%f = conv(%large, %w5)
%joined = concat(%b, %f) {axis=1}
%g = conv(%joined, %w6) {pads=[1,1,1,1]}
%y = conv(%g, %w7)
output %y
)");
  ConvertOptions options = test::OptionsFor();
  MemorySpace* ram = options.board.FindSpace("ram");
  ram->reserve_bytes = 0;
  const auto whole = ConvertGraph(graph, options);
  REQUIRE(whole.ok());
  const int64_t bytes = whole->memory.arena_bytes + whole->memory.packed_bytes;
  Picoseconds time = whole->time.after;
  for (int64_t eighths = 7; eighths > 1; --eighths) {
    CAPTURE(eighths);
    ram->bytes = bytes * eighths / 8;
    const auto limited = ConvertGraph(graph, options);
    REQUIRE(limited.ok());
    CHECK(limited->memory.arena_bytes + limited->memory.packed_bytes <= ram->bytes);
    CHECK(limited->time.after >= time - time / 16);
    time = std::max(time, limited->time.after);
  }
}

TEST_CASE("Fit: under a limit the largest packings of weights are given up first") {
  const Graph graph = Parsed(R"(input %x: f32[1,64,16,16]
const %w1: f32[128,64,3,3] = random(1)
const %w2: f32[64,128,3,3] = random(2)
const %w3: f32[64,64,3,3] = random(3)
%a = conv(%x, %w1) {pads=[1,1,1,1]}
%b = conv(%a, %w2) {pads=[1,1,1,1]}
%y = conv(%b, %w3) {pads=[1,1,1,1]}
output %y
)");
  ConvertOptions options = test::OptionsFor();
  const auto whole = ConvertGraph(graph, options);
  REQUIRE(whole.ok());
  MemorySpace* ram = options.board.FindSpace("ram");
  ram->reserve_bytes = 0;
  ram->bytes = whole->memory.arena_bytes + whole->memory.packed_bytes - 1;
  const auto limited = ConvertGraph(graph, options);
  REQUIRE(limited.ok());
  CHECK(limited->memory.arena_bytes + limited->memory.packed_bytes <= ram->bytes);
  CHECK(limited->memory.packed_bytes > whole->memory.packed_bytes / 6);
}

}  // namespace
}  // namespace tenon::converter
