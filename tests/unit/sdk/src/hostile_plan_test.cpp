// Plans that pass the plan check but would lead a caller astray are refused when they are loaded.
#include "runtime/base/config.hpp"
#include "tests/unit/runtime/format/plan_fixture.hpp"
#include "tests/unit/sdk/src/loaded_plan_testing.hpp"

namespace tenon::test {
namespace {

/// A plan of one identity op from `in` to `out`, 16 elements each.
PlanSpec OneOp() {
  PlanSpec spec;
  spec.kernels = {"cpu.unary.portable"};
  const uint32_t in = spec.AddBuffer(0, 16);
  const uint32_t out = spec.AddBuffer(64, 16);
  spec.AddOp({in}, {out});
  spec.AddInput(in);
  spec.AddOutput(out);
  return spec;
}

TEST_CASE("tenon_plan_load: takes the plan that the others here are made from") {
  tenon_error error;
  CHECK_MESSAGE(LoadStatus(OneOp().Write(), error) == TENON_OK, error.message);
}

TEST_CASE("tenon_plan_load: a port on a larger storage would reach beyond memory bound to it") {
  tenon_error error;
  PlanSpec output = OneOp();
  output.storages[1].bytes = 256;
  CHECK(LoadStatus(output.Write(), error) == TENON_CORRUPT_PLAN);
  CHECK(std::string(error.message).find("'out' is not a row-major array of its own") !=
        std::string::npos);
  PlanSpec input = OneOp();
  input.storages[0].bytes = 256;
  input.storages[1].offset = 256;
  CHECK(LoadStatus(input.Write(), error) == TENON_CORRUPT_PLAN);
}

TEST_CASE("tenon_plan_load: arenas whose sizes cannot be added up are refused") {
  tenon_error error;
  PlanSpec spec = OneOp();
  spec.arenas.resize(4);
  for (ArenaSpec& arena : spec.arenas) arena.bytes = uint64_t{1} << 62;
  // Firmware's plan check itself takes no arena of 2 GB.
  CHECK(LoadStatus(spec.Write(), error) ==
        (kHasWorkers ? TENON_OUT_OF_MEMORY : TENON_CORRUPT_PLAN));
}

TEST_CASE("tenon_plan_load: operands that the op's rule refuses are the plan's fault") {
  tenon_error error;
  PlanSpec spec = OneOp();
  spec.tensors[1].dims = {4, 4};
  spec.tensors[1].strides = {4, 1};
  CHECK(LoadStatus(spec.Write(), error) == TENON_CORRUPT_PLAN);
  spec = OneOp();
  spec.ops[0].attributes = {0};
  CHECK(LoadStatus(spec.Write(), error) == TENON_CORRUPT_PLAN);
}

}  // namespace
}  // namespace tenon::test
