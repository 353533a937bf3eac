// The plan check of a runtime that was built without devices (TENON_FIRMWARE).
#include "runtime/base/config.hpp"
#include "tests/unit/runtime/format/plan_check_samples.hpp"

namespace tenon::test {
namespace {

constexpr char kRefusal[] = "which this runtime was built without";

TEST_CASE("Without devices: plans for the CPU pass the check") {
  static_assert(!kHasDevices);
  CHECK(Check(ForkAndJoin()) == "");
  CHECK(Check(InPlace()) == "");
}

TEST_CASE("Without devices: a plan that uses one is refused") {
  CHECK(Says(WithDevice(), kRefusal));
  CHECK(Says(WithFallback(), kRefusal));
}

TEST_CASE("Without devices: a pipeline is refused, on the CPU too") {
  CHECK(Says(Pipeline(), kRefusal));
}

}  // namespace
}  // namespace tenon::test
