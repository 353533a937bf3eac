// Whole int8 models as layers.
#include <doctest/doctest.h>

#include "converter/driver/import_model.hpp"
#include "converter/driver/pipeline.hpp"
#include "converter/fold/fold_tensors.hpp"
#include "tests/support/shared_folder.hpp"
#include "tests/unit/backends/fpga/codegen/compare_layers.hpp"
#include "tests/unit/backends/fpga/codegen/run_code.hpp"

using namespace tenon;  // NOLINT

namespace {

struct Expected {
  const char* model;
  int layers;     ///< on the accelerator
  int elsewhere;  ///< ops that stay on the CPU
};

// What stays: softmax, and copies that turn a model's own layout.
constexpr Expected kModels[] = {
    {"models/mlperf_ad01_autoencoder/ad01_int8.tflite", 10, 0},
    {"models/mlperf_kws_dscnn/kws_int8.tflite", 11, 1},
    {"models/mlperf_resnet8_cifar10/resnet8_int8.tflite", 11, 1},
    {"field-models/mlperf_sww/strm_ww_int8.tflite", 9, 1},
    {"field-models/mlperf_vww/vww_96_int8.tflite", 29, 1},
};

converter::Graph Imported(const std::filesystem::path& path) {
  auto graph = converter::ImportModel(path, {}, converter::FoldTensors);
  REQUIRE(graph.ok());
  std::vector<converter::PassReport> reports;
  REQUIRE(converter::Canonicalise(*graph, true, reports).ok());
  return std::move(*graph);
}

}  // namespace

TEST_CASE("LowerSegment: int8 models are layers that give the CPU's bytes") {
  for (const Expected& expected : kModels) {
    CAPTURE(expected.model);
    const std::filesystem::path path = test::SharedPath(expected.model);
    if (path.empty()) continue;
    test::SeenLayers seen;
    CHECK(test::CompareLayers(Imported(path), 1, seen) == "");
    CHECK(seen.layers == expected.layers);
    CHECK(seen.elsewhere == expected.elsewhere);
  }
}

TEST_CASE("GenerateCode: the code of int8 models leaves the CPU's bytes in memory") {
  for (const Expected& expected : kModels) {
    CAPTURE(expected.model);
    const std::filesystem::path path = test::SharedPath(expected.model);
    if (path.empty()) continue;
    test::RunSegments run;
    CHECK(test::CompareCode(Imported(path), 1, test::FullTarget(), run) == "");
    CHECK(run.segments == 1);
    CHECK(run.refused == 0);
  }
}
