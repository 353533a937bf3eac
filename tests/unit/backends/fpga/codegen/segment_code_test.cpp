// Generated code leaves the CPU's bytes in memory.
#include <doctest/doctest.h>

#include <cstdlib>

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
