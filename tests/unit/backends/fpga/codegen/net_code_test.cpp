// Whole networks of the size that boards run, on the interpreter: minutes, so that only the full
// tests name one (TENON_FPGA_NET).
#include <doctest/doctest.h>

#include <cstdlib>

#include "converter/driver/import_model.hpp"
#include "converter/driver/pipeline.hpp"
#include "converter/fold/fold_tensors.hpp"
#include "tests/unit/backends/fpga/codegen/run_code.hpp"

using namespace tenon;  // NOLINT

TEST_CASE("GenerateCode: a whole network's code leaves the CPU's bytes in memory") {
  const char* path = std::getenv("TENON_FPGA_NET");
  if (path == nullptr) {
    MESSAGE("skipped: TENON_FPGA_NET names no network");
    return;
  }
  auto graph = converter::ImportModel(path, {}, converter::FoldTensors);
  REQUIRE(graph.ok());
  std::vector<converter::PassReport> reports;
  REQUIRE(converter::Canonicalise(*graph, true, reports).ok());
  test::RunSegments run;
  CHECK(test::CompareCode(std::move(*graph), 1, test::FullTarget(), run) == "");
  CHECK(run.segments == 1);
  CHECK(run.refused == 0);
  MESSAGE(run.descriptors << " descriptors");
}
