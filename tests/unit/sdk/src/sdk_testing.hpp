// Plans from text for tests of the public interface.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "converter/ir/text.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/unit/sdk/src/loaded_plan_testing.hpp"

namespace tenon::test {

inline std::vector<uint8_t> PlanOf(std::string_view text, bool portable = true) {
  auto graph = converter::ParseGraph(text);
  if (!graph.ok()) FAIL(graph.error().message);
  converter::ConvertOptions options = OptionsFor();
  options.board.units[0].portable_kernels_only = portable;
  auto conversion = converter::ConvertGraph(std::move(*graph), options);
  if (!conversion.ok()) FAIL(conversion.error().message);
  return std::move(conversion->plan);
}

}  // namespace tenon::test
