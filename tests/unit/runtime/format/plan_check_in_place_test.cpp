// Plans that say that an op works in place are held to what the op, or its kernel, can do.
#include "tests/unit/runtime/format/plan_check_samples.hpp"

namespace tenon::test {
namespace {

constexpr char kRefusal[] = "its output takes over input 0, which such an op reads again";

PlanSpec InPlaceOf(OpKind kind, const char* kernel) {
  PlanSpec spec = InPlace();
  spec.ops[1].kind = static_cast<uint16_t>(kind);
  spec.kernels.emplace_back(kernel);
  spec.ops[1].kernel = 1;
  return spec;
}

TEST_CASE("CheckPlan, in place: an op whose row allows it may take its input over") {
  CHECK(Check(InPlaceOf(OpKind::kUnary, "cpu.unary.portable")) == "");
  CHECK(Check(InPlaceOf(OpKind::kSoftmax, "cpu.softmax.portable")) == "");
}

TEST_CASE("CheckPlan, in place: an op that reads its input again is refused") {
  CHECK(Says(InPlaceOf(OpKind::kConv, "cpu.conv.portable"), kRefusal));
  CHECK(Says(InPlaceOf(OpKind::kMatMul, "cpu.matmul.portable"), kRefusal));
  CHECK(Says(InPlaceOf(OpKind::kTranspose, "cpu.transpose.portable"), kRefusal));
}

TEST_CASE(
    "CheckPlan, in place: a kernel that keeps what it reads again may, whatever its variant") {
  CHECK(Check(InPlaceOf(OpKind::kConv, "cpu.conv.portable_in_place")) == "");
  CHECK(Check(InPlaceOf(OpKind::kConv, "cpu.conv.portable_in_place:7x16")) == "");
  CHECK(Says(InPlaceOf(OpKind::kConv, "cpu.conv.portable:_in_place"), kRefusal));
  CHECK(Says(InPlaceOf(OpKind::kConv, "cpu.conv.portable_in_places"), kRefusal));
}

TEST_CASE("CheckPlan, in place: such a kernel takes over its first input and no other") {
  PlanSpec spec = InPlaceOf(OpKind::kConv, "cpu.conv.portable_in_place");
  spec.ops[1].inputs = {0, 1};
  spec.ops[1].in_place = 1;
  CHECK(Says(spec, "its output takes over input 1"));
}

TEST_CASE(
    "CheckPlan, in place: another input on the bytes that are taken over must be allowed too") {
  PlanSpec spec = InPlaceOf(OpKind::kConv, "cpu.conv.portable_in_place");
  spec.ops[1].inputs = {1, 1};
  CHECK(Says(spec, "its output takes over input 1"));
  spec = InPlaceOf(OpKind::kBinary, "cpu.binary.portable");
  spec.ops[1].inputs = {1, 1};
  CHECK(Check(spec) == "");
}

TEST_CASE("CheckPlan, in place: the fall-back kernel must be able to as well") {
  PlanSpec spec = WithFallback();
  spec.storages[3].offset = spec.storages[2].offset;
  spec.ops[2].in_place = 0;
  spec.ops[2].kind = static_cast<uint16_t>(OpKind::kConv);
  spec.kernels = {"cpu.unary.portable", "npu.unary.generic", "npu.conv.generic_in_place",
                  "cpu.conv.portable_in_place"};
  spec.ops[2].kernel = 2;
  spec.ops[2].fallback_kernel = 3;
  CHECK(Check(spec) == "");
  spec.ops[2].fallback_kernel = 0;
  CHECK(Says(spec, kRefusal));
}

TEST_CASE("CheckPlan, in place: an op is held to its word on whatever bytes its output lies") {
  PlanSpec spec = InPlaceOf(OpKind::kConv, "cpu.conv.portable");
  spec.storages[2].offset = 256;
  CHECK(Says(spec, kRefusal));
}

}  // namespace
}  // namespace tenon::test
