// A model for tests of memory: its tensor in the middle is much larger than the ends.
#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "converter/driver/pipeline.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/support/parsed_graph.hpp"

namespace tenon::converter {

/// Three 3x3 convolutions on an image.
inline constexpr const char* kChain = R"(input %x: f32[1,2,24,24]
const %w1: f32[16,2,3,3] = random(1)
const %w2: f32[16,16,3,3] = random(2)
const %w3: f32[2,16,3,3] = random(3)
%a = conv(%x, %w1) {pads=[1,1,1,1]}
%b = conv(%a, %w2) {pads=[1,1,1,1]}
%y = conv(%b, %w3) {pads=[1,1,1,1]}
output %y
)";

/// Memory that does not limit the graphs of these tests.
inline constexpr int64_t kMuch = int64_t{1} << 25;

inline Conversion Converted(const Graph& graph, const ConvertOptions& options) {
  auto conversion = ConvertGraph(graph, options);
  if (!conversion.ok()) FAIL(conversion.error().message);
  return std::move(*conversion);
}

/// The number at the end of "--memory-limit SPACE=N" in what a refusal says.
inline int64_t StatedLimit(const Error& error, const std::string& space) {
  const std::string mark = "--memory-limit " + space + "=";
  for (const std::string& detail : error.details) {
    const size_t at = detail.find(mark);
    if (at != std::string::npos) return std::stoll(detail.substr(at + mark.size()));
  }
  FAIL("no limit in the details of: " << error.message);
  return 0;
}

/// What the portable kernels give.
inline std::vector<std::vector<std::byte>> Outputs(
    const Conversion& conversion, const std::vector<std::vector<std::byte>>& inputs) {
  test::RunSettings settings;
  settings.portable = true;
  const test::RunResult run = test::RunPlan(conversion.plan, inputs, settings);
  REQUIRE(run.error == "");
  return run.outputs;
}

}  // namespace tenon::converter
