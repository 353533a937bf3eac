#include "converter/schedule/step_waits.hpp"

#include <doctest/doctest.h>

namespace tenon::converter {
namespace {

using Waits = std::vector<std::vector<int32_t>>;

TEST_CASE("a step waits for the last step needed of each other unit, never of its own") {
  const std::vector<OrderedStep> steps = {{0, {}}, {0, {}}, {1, {0, 1}}, {1, {2}}};
  CHECK(ReducedWaits(steps, 2) == Waits{{}, {}, {1}, {}});
}

TEST_CASE("a wait that follows from another is left out") {
  // 2 needs 1, which has waited for 0.
  const std::vector<OrderedStep> steps = {{0, {}}, {1, {0}}, {2, {0, 1}}};
  CHECK(ReducedWaits(steps, 3) == Waits{{}, {0}, {1}});
}

TEST_CASE("a wait that the unit has made before is left out") {
  const std::vector<OrderedStep> steps = {{0, {}}, {1, {0}}, {1, {0}}};
  CHECK(ReducedWaits(steps, 2) == Waits{{}, {0}, {}});
}

TEST_CASE("who writes bytes waits for all who used them for something else, and no others") {
  std::vector<OrderedStep> steps(4);
  std::vector<UsedBytes> uses(3);
  uses[0] = {0, 0, 64, 0, 10, {0}, {0, 1}};    // bytes 0-63, steps 0 and 1
  uses[1] = {0, 64, 64, 0, 10, {0}, {0}};      // bytes 64-127
  uses[2] = {0, 32, 32, 10, 20, {2}, {2, 3}};  // inside the first
  AddReuseNeeds(uses, steps);
  CHECK(steps[2].needs == std::vector<int32_t>{0, 1});
  CHECK(steps[3].needs.empty());
}

TEST_CASE("the same offset in another arena is no reuse") {
  std::vector<OrderedStep> steps(2);
  AddReuseNeeds({{0, 0, 64, 0, 10, {0}, {0}}, {1, 0, 64, 10, 20, {1}, {1}}}, steps);
  CHECK(steps[1].needs.empty());
}

TEST_CASE("a user of a part that was not overwritten is waited for later") {
  std::vector<OrderedStep> steps(3);
  AddReuseNeeds(
      {{0, 0, 128, 0, 10, {0}, {0}}, {0, 0, 64, 10, 20, {1}, {1}}, {0, 64, 64, 20, 30, {2}, {2}}},
      steps);
  CHECK(steps[2].needs == std::vector<int32_t>{0});
}

}  // namespace
}  // namespace tenon::converter
