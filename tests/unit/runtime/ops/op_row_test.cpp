// CheckOpCall and InferOutputs: what does not depend on the op.
#include "runtime/ops/op_row.hpp"

#include <doctest/doctest.h>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/runtime/ops/op_tester.hpp"

namespace tenon {
namespace {

const BinaryAttributes kAdd;
const MatMulAttributes kProduct;

OpTester Add() { return OpTester(kBinaryRow).Input(kF32, {2, 3}).Input(kF32, {3}); }

TEST_CASE("CheckOpCall: the declared output must be what the rule infers") {
  CHECK(Add().Output(kF32, {2, 3}).Check(&kAdd) == "ok");
  CHECK(Add().Output(DType::kI32, {2, 3}).Check(&kAdd) ==
        "error: output 0 has another dtype than the op gives");
  CHECK(Add().Output(kF32, {2, 4}).Check(&kAdd) ==
        "error: output 0 has another shape than the op gives");
  CHECK(Add().Output(kF32, {2, 3, 1}).Check(&kAdd) ==
        "error: output 0 has another shape than the op gives");
}

TEST_CASE("CheckOpCall: what the rule refuses is refused") {
  CHECK(OpTester(kBinaryRow).Input(kF32, {2}).Input(kF32, {3}).Output(kF32, {3}).Check(&kAdd) ==
        "error: the operands' shapes do not broadcast");
}

TEST_CASE("CheckOpCall: the number of outputs is the row's") {
  CHECK(Add().Check(&kAdd) == "error: 0 outputs instead of 1");
  CHECK(Add().Output(kF32, {2, 3}).Output(kF32, {2, 3}).Check(&kAdd) ==
        "error: 2 outputs instead of 1");
  CHECK(Add().AbsentOutput().Check(&kAdd) == "error: output 0 is missing");
}

TEST_CASE("CheckOpCall: too few and too many inputs are refused") {
  CHECK(OpTester(kBinaryRow).Input(kF32, {3}).Output(kF32, {3}).Check(&kAdd) ==
        "error: 1 inputs, but 2 are needed");
  CHECK(Add().Input(kF32, {3}).Output(kF32, {2, 3}).Check(&kAdd) ==
        "error: 3 inputs, but 2 at most are taken");
}

TEST_CASE("InferOutputs: a required input must be there, an optional one need not") {
  CHECK(OpTester(kBinaryRow).Absent().Input(kF32, {3}).Infer(kAdd) == "error: input 0 is missing");
  CHECK(OpTester(kMatMulRow).Input(kF32, {2, 3}).Input(kF32, {3, 2}).Absent().Infer(kProduct) ==
        "f32[2,2]");
}

TEST_CASE("InferOutputs: missing attributes are refused, unless the op has none") {
  CHECK(Add().InferWith(nullptr) == "error: the attributes are missing");
  CHECK(OpTester(kCopyRow).Input(kF32, {3}).InferWith(nullptr) == "f32[3]");
}

}  // namespace
}  // namespace tenon
