// An output may take over an input's memory where the op's row or the kernel allows it, and the
// kernel is told.
#include "tests/unit/runtime/format/plan_fixture.hpp"
#include "tests/unit/sdk/src/changed_kernels.hpp"

namespace tenon::test {
namespace {

/// What the plan check takes for a kernel that works in place.
constexpr char kKernel[] = "cpu.copy.test_in_place";

/// in -> a -> b -> out, identities but for a copy from a to b, which lie on the same bytes.
PlanSpec CopyInPlace() {
  PlanSpec spec;
  spec.kernels = {"cpu.unary.portable", kKernel};
  const uint32_t in = spec.AddBuffer(0, 16);
  const uint32_t a = spec.AddBuffer(64, 16);
  const uint32_t b = spec.AddBuffer(64, 16);
  const uint32_t out = spec.AddBuffer(128, 16);
  spec.AddOp({in}, {a});
  spec.AddOp({a}, {b});
  spec.AddOp({b}, {out});
  spec.ops[1].kind = static_cast<uint16_t>(OpKind::kCopy);
  spec.ops[1].kernel = 1;
  spec.ops[1].attributes = {};
  spec.ops[1].in_place = 0;
  spec.AddInput(in);
  spec.AddOutput(out);
  return spec;
}

int told_in_place = -2;

TEST_CASE("In place: refused where neither row nor kernel allows it") {
  const ChangedKernels kernels([](KernelEntry& entry) {
    if (entry.row->kind == OpKind::kCopy) entry.id = kKernel;
  });
  tenon_error error{};
  CHECK(LoadWith(CopyInPlace().Write(), kernels.get(), &error) == TENON_CORRUPT_PLAN);
  CHECK_MESSAGE(std::string(error.message).find("takes over input 0") != std::string::npos,
                error.message);
}

TEST_CASE("In place: a kernel that allows another input is not asked") {
  const ChangedKernels kernels([](KernelEntry& entry) {
    if (entry.row->kind != OpKind::kCopy) return;
    entry.id = kKernel;
    entry.in_place_inputs = 2;
  });
  tenon_error error{};
  CHECK(LoadWith(CopyInPlace().Write(), kernels.get(), &error) == TENON_CORRUPT_PLAN);
}

TEST_CASE("In place: a kernel that allows it is told of it when it is checked") {
  const ChangedKernels kernels([](KernelEntry& entry) {
    if (entry.row->kind != OpKind::kCopy) return;
    entry.id = kKernel;
    entry.in_place_inputs = 1;
    entry.check = [](const KernelSetup& setup) {
      told_in_place = setup.in_place;
      return OkStatus();
    };
  });
  tenon_error error{};
  CHECK_MESSAGE(LoadWith(CopyInPlace().Write(), kernels.get(), &error) == TENON_OK, error.message);
  CHECK(told_in_place == 0);
}

}  // namespace
}  // namespace tenon::test
