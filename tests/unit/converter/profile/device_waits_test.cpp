#include "converter/profile/device_waits.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace tenon::converter {
namespace {

TimedOp Timed(double ms, bool on_device) { return {{10, ms * 0.9, ms, 0.05}, on_device}; }

TEST_CASE("What a device's ops take more with clocks than without is taken from each evenly") {
  std::vector<TimedOp> ops = {Timed(0.5, true), Timed(0.3, true), Timed(0.2, false)};
  RemoveWaits(/*latency_ms=*/0.6, ops);
  CHECK(ops[0].durations.mean_ms == doctest::Approx(0.4));
  CHECK(ops[0].durations.min_ms == doctest::Approx(0.35));
  CHECK(ops[1].durations.mean_ms == doctest::Approx(0.2));
  CHECK(ops[2].durations.mean_ms == doctest::Approx(0.2));  // the processor's
  CHECK(ops[0].durations.spread == doctest::Approx(0.05));
}

TEST_CASE("An op keeps a tenth of its time at least") {
  std::vector<TimedOp> ops = {Timed(1.0, true), Timed(0.02, true)};
  RemoveWaits(/*latency_ms=*/0.82, ops);
  CHECK(ops[0].durations.mean_ms == doctest::Approx(0.9));
  CHECK(ops[1].durations.mean_ms == doctest::Approx(0.002));
}

TEST_CASE("What the processor does beside a device is no waiting") {
  std::vector<TimedOp> ops = {Timed(10, true), Timed(8, false)};
  RemoveWaits(/*latency_ms=*/10, ops);
  CHECK(ops[0].durations.mean_ms == 10);
}

TEST_CASE("Times stay where the run without clocks takes longer") {
  std::vector<TimedOp> ops = {Timed(0.5, true), Timed(0.3, true)};
  RemoveWaits(/*latency_ms=*/0.9, ops);
  CHECK(ops[0].durations.mean_ms == 0.5);
  CHECK(ops[1].durations.mean_ms == 0.3);
}

TEST_CASE("Of a network that is the processor's for the most part no waits are known") {
  std::vector<TimedOp> ops = {Timed(0.3, true), Timed(0.5, false)};
  RemoveWaits(/*latency_ms=*/0.6, ops);
  CHECK(ops[0].durations.mean_ms == 0.3);
}

TEST_CASE("A network without ops has nothing to take from") {
  std::vector<TimedOp> ops;
  RemoveWaits(/*latency_ms=*/0, ops);
  CHECK(ops.empty());
}

}  // namespace
}  // namespace tenon::converter
