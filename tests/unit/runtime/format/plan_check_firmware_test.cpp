// What the check of firmware (TENON_FIRMWARE) refuses that other builds take. The other tests of
// the check are run in both configurations, as far as they are about one worker.
#include "runtime/base/config.hpp"
#include "tests/unit/runtime/format/plan_check_samples.hpp"

namespace tenon::test {
namespace {

constexpr char kRefusal[] = "which this runtime was built without";

TEST_CASE("Firmware: a plan that uses a device is refused") {
  static_assert(!kHasDevices && !kHasWorkers);
  CHECK(Says(WithDevice(), kRefusal));
  CHECK(Says(WithFallback(), kRefusal));
  PlanSpec spec = Chain();
  spec.kernels = {"cp.unary.generic"};
  CHECK(Says(spec, kRefusal));
  spec.kernels = {"cpu"};
  CHECK(Says(spec, kRefusal));
}

TEST_CASE("Firmware: several workers and waits are refused") {
  CHECK(Says(ForkAndJoin(), kRefusal));
  PlanSpec spec = Chain();
  spec.workers[0][1].waits = {{0, 0}};
  CHECK(Says(spec, kRefusal));
  spec.workers.clear();
  CHECK(Says(spec, kRefusal));
}

TEST_CASE("Firmware: a pipeline is refused, on the CPU too") {
  CHECK(Says(Pipeline(), kRefusal));
  PlanSpec spec = Chain();
  spec.mode = 1;
  CHECK(Says(spec, kRefusal));
  spec = Chain();
  spec.arenas[0].slots = 2;
  CHECK(Says(spec, kRefusal));
}

TEST_CASE("Firmware: sizes that 32 bits do not hold are refused, not cut") {
  PlanSpec spec = Chain();
  spec.storages[1].offset += uint64_t{1} << 32;
  CHECK(Says(spec, "storage 1 reaches over the end"));
  spec = Chain();
  spec.storages[1].bytes += uint64_t{1} << 32;
  CHECK(Says(spec, "storage 1 reaches over the end"));
  spec = Chain();
  spec.tensors[1].offset += uint64_t{1} << 32;
  CHECK(Says(spec, "tensor 1 reaches over the end"));
  spec = Chain();
  spec.arenas[0].bytes += uint64_t{1} << 32;
  CHECK(Says(spec, "arena 0: memory space, size"));
}

TEST_CASE("Firmware: more ops or storages than its numbers count are refused") {
  PlanSpec spec = Chain();
  for (int i = 0; i < 65540; ++i) spec.AddStorage(0, 0);
  CHECK(Says(spec, "program too large for this build"));
}

TEST_CASE("Firmware: more comparisons than the budget allows are refused, not done") {
  PlanSpec spec;
  spec.arenas[0].bytes = 1 << 20;
  const uint32_t storage = spec.AddStorage(0, 5000);
  for (uint64_t i = 0; i < 5000; ++i) {
    spec.AddOp({}, {spec.AddTensor(storage, {1}, i, {1}, DType::kU8)});
  }
  CHECK(Says(spec, "too many strided parts"));
}

TEST_CASE("Firmware: scratch is a few bytes per op and storage") {
  const auto file = Chain().Write();
  const auto view = PlanView::Open(Span<const uint8_t>(file.data(), file.size()));
  REQUIRE(view.ok());
  CHECK(PlanCheckScratchBytes(*view) <= 128);
}

}  // namespace
}  // namespace tenon::test
