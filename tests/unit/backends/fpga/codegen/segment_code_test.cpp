// Generated code leaves the CPU's bytes in memory.
#include <doctest/doctest.h>

#include <cstdlib>
#include <utility>

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
