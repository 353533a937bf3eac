// Terms of the cost model that boards may leave out.
#include "tests/unit/converter/cost/round_unit.hpp"

namespace tenon::converter {
namespace {

TEST_CASE(
    "AnalyticCostModel: a depthwise convolution's outputs and rows cost what the board says") {
  constexpr std::string_view kConvolutions = R"(graph g
input %x: f32[2,20,5,6]
const %d: f32[20,1,3,3] = random(1)
const %e: f32[20,1,3,4] = random(2)
%depthwise = conv(%x, %d) {group=20}
%one = conv(%depthwise, %e) {group=20}
output %one
)";
  Unit unit = RoundUnit("cpu");
  const auto compute = [&](std::string_view name) {
    return TimeOf(kConvolutions, name, unit).compute;
  };
  const Picoseconds taps = compute("depthwise");
  const Picoseconds of_one = compute("one");
  unit.depthwise_products_per_output = {{"f32", 7}};
  CHECK(compute("depthwise") == taps + Picoseconds{2} * 20 * 3 * 4 * 7 * 1000);
  unit.depthwise_products_per_row = {{"f32", 50}};
  // 20 channels are two blocks of 16.
  CHECK(compute("depthwise") ==
        taps + Picoseconds{2} * 20 * 3 * 4 * 7 * 1000 + Picoseconds{2} * 3 * 2 * 50 * 1000);
  CHECK(compute("one") == of_one);
}

TEST_CASE("AnalyticCostModel: operands that a core's own cache holds come at its rate") {
  Unit unit = RoundUnit("cpu");
  unit.multiply_accumulates_per_second = {{"f32", 1e15}};
  unit.elementary_ops_per_second = 1e15;
  unit.shared_cache_bytes = 1 << 20;
  unit.shared_cache_bytes_per_second = 1e9;  // a byte takes 1 ns
  const int64_t constants = 4 * (48 + 8);
  const int64_t others = 4 * (24 + 32);
  unit.cache_bytes_per_second = 2e9;
  unit.cache_bytes_per_thread = others;
  CHECK(TimeOf(kProduct, "y", unit).compute == constants * 1000 + others * 500);
  unit.cache_bytes_per_thread = others - 1;
  CHECK(TimeOf(kProduct, "y", unit).compute == (constants + others) * 1000);
}

}  // namespace
}  // namespace tenon::converter
