#include <doctest/doctest.h>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/runtime/ops/op_tester.hpp"

namespace tenon {
namespace {

/// Pads a vector of `dim` elements.
std::string Pad(PadMode mode, int32_t dim, int32_t begin, int32_t end) {
  PadAttributes attributes;
  attributes.mode = mode;
  attributes.rank = 1;
  attributes.begins[0] = begin;
  attributes.ends[0] = end;
  return OpTester(kPadRow).Input(DType::kF32, {dim}).Infer(attributes);
}

std::string PadWith(float value, DType dtype) {
  PadAttributes attributes;
  attributes.rank = 1;
  attributes.value = value;
  return OpTester(kPadRow).Input(dtype, {1}).Infer(attributes);
}

const char* const kNotAValue = "error: the pad value is not a value of the input's dtype";

TEST_CASE("Pad: adds at both ends of every dimension") {
  PadAttributes attributes;
  attributes.rank = 2;
  attributes.begins[0] = 1;
  attributes.ends[1] = 5;
  CHECK(OpTester(kPadRow).Input(DType::kF32, {2, 3}).Infer(attributes) == "f32[3,8]");
}

TEST_CASE("Pad: negative amounts remove what is there and no more") {
  CHECK(Pad(PadMode::kConstant, 5, -2, -1) == "f32[2]");
  CHECK(Pad(PadMode::kConstant, 5, -2, 4) == "f32[7]");
  CHECK(Pad(PadMode::kConstant, 5, -2, -3) == "f32[0]");
  CHECK(Pad(PadMode::kConstant, 5, -3, -3) == "error: 6 of 5 elements cannot be removed");
  CHECK(Pad(PadMode::kConstant, 5, -6, 9) == "error: 6 of 5 elements cannot be removed");
  CHECK(Pad(PadMode::kConstant, 5, INT32_MIN, INT32_MIN) ==
        "error: 4294967296 of 5 elements cannot be removed");
}

TEST_CASE("Pad: edge needs an element that stays") {
  CHECK(Pad(PadMode::kEdge, 1, 3, 3) == "f32[7]");
  CHECK(Pad(PadMode::kEdge, 0, 0, 0) == "f32[0]");
  CHECK(Pad(PadMode::kEdge, 0, 1, 0) == "error: there is no edge to repeat");
  CHECK(Pad(PadMode::kEdge, 3, -3, 1) == "error: there is no edge to repeat");
}

TEST_CASE("Pad: reflect adds fewer elements than stay") {
  CHECK(Pad(PadMode::kReflect, 4, 3, 3) == "f32[10]");
  CHECK(Pad(PadMode::kReflect, 4, 4, 0) == "error: 4 elements cannot reflect 4");
  CHECK(Pad(PadMode::kReflect, 4, 0, 4) == "error: 4 elements cannot reflect 4");
  CHECK(Pad(PadMode::kReflect, 4, -2, 2) == "error: 2 elements cannot reflect 2");
  CHECK(Pad(PadMode::kReflect, 4, -2, 1) == "f32[3]");
  CHECK(Pad(PadMode::kReflect, 4, INT32_MAX, 0) == "error: 4 elements cannot reflect 2147483647");
}

TEST_CASE("Pad: a dimension past 2^31 is refused") {
  CHECK(Pad(PadMode::kConstant, 4, INT32_MAX, INT32_MAX) == "error: dimension 0 would pass 2^31");
  PadAttributes attributes;
  attributes.rank = 2;
  attributes.ends[0] = 1 << 15;
  attributes.ends[1] = 1 << 16;
  CHECK(OpTester(kPadRow).Input(DType::kF32, {1, 1}).Infer(attributes) ==
        "error: the output would have a negative dimension or 2^31 or more elements");
}

TEST_CASE("Pad: floats take any value") {
  for (const float value : {0.5F, -kInfinity, kNan}) {
    CHECK(PadWith(value, DType::kF16) == "f16[1]");
    CHECK(PadWith(value, DType::kBf16) == "bf16[1]");
  }
}

TEST_CASE("Pad: integers take only values that they can hold") {
  CHECK(PadWith(-128.0F, DType::kI8) == "i8[1]");
  CHECK(PadWith(255.0F, DType::kU8) == "u8[1]");
  CHECK(PadWith(-9223372036854775808.0F, DType::kI64) == "i64[1]");
  CHECK(PadWith(9223372036854775808.0F, DType::kU64) == "u64[1]");
  CHECK(PadWith(-129.0F, DType::kI8) == kNotAValue);
  CHECK(PadWith(128.0F, DType::kI8) == kNotAValue);
  CHECK(PadWith(256.0F, DType::kU8) == kNotAValue);
  CHECK(PadWith(-1.0F, DType::kU8) == kNotAValue);
  CHECK(PadWith(0.5F, DType::kI32) == kNotAValue);
  CHECK(PadWith(2147483648.0F, DType::kI32) == kNotAValue);
  CHECK(PadWith(9223372036854775808.0F, DType::kI64) == kNotAValue);
  CHECK(PadWith(18446744073709551616.0F, DType::kU64) == kNotAValue);
  CHECK(PadWith(kNan, DType::kI32) == kNotAValue);
  CHECK(PadWith(kInfinity, DType::kI32) == kNotAValue);
}

TEST_CASE("Pad: bool takes 0 and 1") {
  CHECK(PadWith(1.0F, DType::kBool) == "bool[1]");
  CHECK(PadWith(2.0F, DType::kBool) == kNotAValue);
}

TEST_CASE("Pad: the value does not matter where it is not used") {
  PadAttributes attributes;
  attributes.mode = PadMode::kEdge;
  attributes.rank = 1;
  attributes.value = kNan;
  CHECK(OpTester(kPadRow).Input(DType::kI8, {1}).Infer(attributes) == "i8[1]");
}

TEST_CASE("Pad: mode and rank are checked") {
  CHECK(Pad(static_cast<PadMode>(kPadModeCount), 4, 0, 0) == "error: there is no pad mode 3");
  CHECK(Pad(static_cast<PadMode>(-1), 4, 0, 0) == "error: there is no pad mode -1");
  PadAttributes attributes;
  for (const int32_t bad : {-1, 0, 2, 99}) {
    attributes.rank = bad;
    CHECK(OpTester(kPadRow).Input(DType::kF32, {4}).Infer(attributes) ==
          "error: the pads have rank " + std::to_string(bad) + ", the input has rank 1");
  }
}

}  // namespace
}  // namespace tenon
