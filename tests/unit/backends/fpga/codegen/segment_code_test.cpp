// Generated code leaves the CPU's bytes in memory.
#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "converter/ir/text.hpp"
#include "tests/unit/backends/fpga/codegen/random_segment.hpp"
#include "tests/unit/backends/fpga/codegen/run_code.hpp"

using namespace tenon;  // NOLINT

namespace {

/// A sample, or all where TENON_FPGA_SEEDS says how many.
uint64_t Seeds(uint64_t sample) {
  const char* given = std::getenv("TENON_FPGA_SEEDS");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : sample;
}

}  // namespace

TEST_CASE("GenerateCode: random convolutions leave the CPU's bytes in memory") {
  test::RunSegments run;
  for (uint64_t seed = 0; seed < Seeds(40); ++seed) {
    CAPTURE(seed);
    CHECK(test::CompareCode(test::RandomConv(seed), seed, test::FullTarget(), run) == "");
  }
  CHECK(run.refused == 0);
  MESSAGE(run.segments << " segments, " << run.descriptors << " descriptors");
}

TEST_CASE("GenerateCode: code for arrays of 8 and 16 channels leaves the CPU's bytes too") {
  test::RunSegments run;
  fpga::CodeTarget target = test::FullTarget();
  for (const int channels : {8, 16}) {
    CAPTURE(channels);
    target.input_channels = target.output_channels = target.lanes = channels;
    for (uint64_t seed = 0; seed < Seeds(20); ++seed) {
      CAPTURE(seed);
      CHECK(test::CompareCode(test::RandomConv(seed), seed, target, run) == "");
      CHECK(test::CompareCode(test::RandomSegment(seed), seed, target, run) == "");
    }
  }
  CHECK(run.segments > 40);
}

TEST_CASE("GenerateCode: an array that is not square, or of other sizes, is refused in words") {
  for (const auto& [inputs, outputs] : {std::pair(16, 32), std::pair(64, 64), std::pair(0, 0)}) {
    test::RunSegments run;
    fpga::CodeTarget target = test::FullTarget();
    target.input_channels = inputs;
    target.output_channels = outputs;
    CHECK(test::CompareCode(test::RandomConv(1), 1, target, run) == "");
    CHECK(run.segments == 0);
    REQUIRE(run.reasons.size() == 1);
    CHECK(run.reasons[0].find("8, 16 or 32 channels") != std::string::npos);
  }
}

TEST_CASE("GenerateCode: random segments leave the CPU's bytes in memory") {
  test::RunSegments run;
  for (uint64_t seed = 0; seed < Seeds(40); ++seed) {
    CAPTURE(seed);
    CHECK(test::CompareCode(test::RandomSegment(seed), seed, test::FullTarget(), run) == "");
  }
  for (const std::string& reason : run.reasons) {
    INFO(reason);
    CHECK((reason.find("tables") != std::string::npos ||
           reason.find("exchanges at most") != std::string::npos));
  }
  MESSAGE(run.segments << " segments, " << run.descriptors << " descriptors, " << run.refused
                       << " refused");
}

TEST_CASE("GenerateCode: maps without room go band by band, and leave the CPU's bytes in memory") {
  int banded = 0;
  test::RunSegments in_bands;
  fpga::CodeTarget narrow = test::FullTarget();
  for (uint64_t seed = 0; seed < Seeds(120); ++seed) {
    CAPTURE(seed);
    const converter::Graph graph = test::RandomSegment(seed);
    narrow.map_bytes = 4096 << (seed % 4);
    test::RunSegments whole;
    CHECK(test::CompareCode(graph, seed, test::FullTarget(), whole) == "");
    const test::RunSegments before = in_bands;
    CHECK(test::CompareCode(graph, seed, narrow, in_bands) == "");
    const bool same = in_bands.segments - before.segments == whole.segments;
    banded += same && in_bands.descriptors - before.descriptors > whole.descriptors ? 1 : 0;
  }
  CHECK(banded > 12);
  for (const std::string& reason : in_bands.reasons) {
    INFO(reason);
    CHECK((reason.find("tables") != std::string::npos ||
           reason.find("exchanges at most") != std::string::npos ||
           reason.find("do not fit the chip") != std::string::npos));
  }
  MESSAGE(in_bands.segments << " segments, " << banded << " of them in bands, " << in_bands.refused
                            << " refused");
}

TEST_CASE("GenerateCode: an expansion larger than the chip takes one segment, its weights once") {
  const auto graph = converter::ParseGraph(R"(graph g
input %x: i8[1,16,24,24]
const %m: f32[1] = [0.01]
const %w: i8[96,16,1,1] = random(1)
const %d: i8[96,1,3,3] = random(2)
const %p: i8[24,96,1,1] = random(3)
%e = quantized_conv(%x, %w, _, %m) {to=i8}
%f = quantized_conv(%e, %d, _, %m) {group=96, strides=[2,2], pads=[1,1,1,1], to=i8}
%y = quantized_conv(%f, %p, _, %m) {to=i8}
output %y
)");
  REQUIRE(graph.ok());
  fpga::CodeTarget narrow = test::FullTarget();
  narrow.map_bytes = 64 << 10;  // the expansion alone has 54 KiB, its input 18
  test::RunSegments whole;
  test::RunSegments in_bands;
  CHECK(test::CompareCode(*graph, 1, test::FullTarget(), whole) == "");
  CHECK(test::CompareCode(*graph, 1, narrow, in_bands) == "");
  CHECK(in_bands.refused == 0);
  CHECK(in_bands.segments == 1);
  CHECK(in_bands.descriptors > whole.descriptors);
  CHECK(in_bands.constant_bytes == whole.constant_bytes);
  narrow.map_bytes = 10 << 10;  // three rows of the expansion and of its input
  CHECK(test::CompareCode(*graph, 1, narrow, in_bands) == "");
  CHECK(in_bands.segments == 2);
}

TEST_CASE("GenerateCode: a map without room that several layers read goes through memory") {
  // Residual blocks: what is added later stays while the convolutions beside it run.
  const auto graph = converter::ParseGraph(R"(graph g
input %x: u8[1,40,16,12]
const %m: f32[1] = [0.01]
const %w: i8[40,40,3,3] = random(1)
const %v: i8[40,40,1,1] = random(2)
%a = quantized_conv(%x, %w, _, %m) {pads=[1,1,1,1], to=u8, min=0, max=255}
%b = quantized_conv(%a, %w, _, %m) {pads=[1,1,1,1], to=u8, min=0, max=255}
%c = quantized_conv(%b, %v, _, %m) {to=u8, min=0, max=255}
%d = quantized_binary(%c, %a) {function=add, to=u8, min=0, max=255}
%e = quantized_conv(%d, %w, _, %m) {pads=[1,1,1,1], to=u8, min=0, max=255}
%y = quantized_binary(%e, %d) {function=add, to=u8, min=0, max=255}
output %y
)");
  if (!graph.ok()) FAIL(graph.error().message);
  fpga::CodeTarget narrow = test::FullTarget();
  narrow.map_bytes = 14 << 10;  // every map has 12
  test::RunSegments run;
  CHECK(test::CompareCode(*graph, 1, narrow, run) == "");
  for (const std::string& reason : run.reasons) FAIL_CHECK(reason);
  CHECK(run.segments == 1);
  CHECK(run.scratch_bytes >= 40 * 16 * 12);
  CHECK(run.scratch_bytes <= 2 * 40 * 16 * 12 + 128);  // of what is alive together
}

TEST_CASE("GenerateCode: parts of a map without room are put together band by band") {
  const auto graph = converter::ParseGraph(R"(graph g
input %x: i8[1,32,16,12]
const %m: f32[1] = [0.01]
const %w: i8[32,32,3,3] = random(1)
const %v: i8[64,32,1,1] = random(2)
const %u: i8[40,96,3,3] = random(3)
%a = quantized_conv(%x, %w, _, %m) {pads=[1,1,1,1], to=i8}
%b = quantized_conv(%a, %w, _, %m) {pads=[1,1,1,1], to=i8}
%c = quantized_conv(%a, %v, _, %m) {to=i8}
%j = concat(%b, %c) {axis=1}
%e = quantized_conv(%j, %u, _, %m) {pads=[1,1,1,1], to=i8}
%y = max_pool(%e) {kernel=[2,2], strides=[2,2]}
output %y
)");
  if (!graph.ok()) FAIL(graph.error().message);
  test::RunSegments run;
  for (const int kib : {64, 26, 14, 8}) {
    CAPTURE(kib);
    fpga::CodeTarget narrow = test::FullTarget();
    narrow.map_bytes = kib << 10;  // the joined map has 18
    run = {};
    CHECK(test::CompareCode(*graph, 1, narrow, run) == "");
    for (const std::string& reason : run.reasons) FAIL_CHECK(reason);
    CHECK(run.segments == 1);
  }
  CHECK(run.scratch_bytes > 0);  // %a has two readers
}

TEST_CASE("GenerateCode: a batch runs image after image with the same weights") {
  const std::string text = R"(graph g
input %x: i8[IMAGES,3,9,9]
const %m: f32[1] = [0.01]
const %w: i8[40,3,3,3] = random(1)
const %d: i8[40,1,3,3] = random(2)
const %p: i8[40,40,1,1] = random(3)
const %f: i8[40,11] = random(4)
%a = quantized_conv(%x, %w, _, %m) {strides=[2,2], pads=[1,1,1,1], to=i8}
%b = quantized_conv(%a, %d, _, %m) {group=40, pads=[1,1,1,1], to=i8}
%c = quantized_conv(%b, %p, _, %m) {to=i8}
%e = quantized_binary(%c, %a) {function=add, to=i8}
%h = quantized_average_pool(%e) {kernel=[5,5], to=i8}
%r = reshape(%h) {rank=2, dims=[IMAGES,40]}
%y = quantized_matmul(%r, %f, _, %m) {to=i8}
output %y
)";
  const auto run_for = [&](const std::string& images, int64_t map_bytes) {
    std::string with = text;
    for (size_t at = with.find("IMAGES"); at != std::string::npos; at = with.find("IMAGES")) {
      with.replace(at, 6, images);
    }
    const auto graph = converter::ParseGraph(with);
    if (!graph.ok()) FAIL(graph.error().message);
    fpga::CodeTarget target = test::FullTarget();
    target.map_bytes = map_bytes;
    test::RunSegments run;
    CHECK(test::CompareCode(*graph, 1, target, run) == "");
    CHECK(run.segments == 1);
    for (const std::string& reason : run.reasons) FAIL_CHECK(reason);
    return run;
  };
  const test::RunSegments one = run_for("1", 1 << 20);
  const test::RunSegments five = run_for("5", 1 << 20);
  CHECK(five.descriptors == 5 * one.descriptors);
  CHECK(five.constant_bytes == one.constant_bytes);
  CHECK(run_for("5", 6 << 10).constant_bytes == one.constant_bytes);
}
