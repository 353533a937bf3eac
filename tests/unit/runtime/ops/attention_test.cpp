#include <doctest/doctest.h>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/runtime/ops/op_tester.hpp"

namespace tenon {
namespace {

OpTester Attention(const std::vector<int32_t>& q, const std::vector<int32_t>& k,
                   const std::vector<int32_t>& v) {
  return OpTester(kAttentionRow).Input(kF32, q).Input(kF32, k).Input(kF32, v);
}

TEST_CASE("Attention: one row of the values' columns for each query") {
  CHECK(Attention({5, 3}, {7, 3}, {7, 2}).Infer() == "f32[5,2]");
  CHECK(Attention({1, 4, 5, 3}, {1, 4, 7, 3}, {1, 4, 7, 2}).Infer() == "f32[1,4,5,2]");
  CHECK(Attention({4, 0, 3}, {4, 7, 3}, {4, 7, 2}).Infer() == "f32[4,0,2]");
}

TEST_CASE("Attention: keys can be transposed") {
  CHECK(Attention({5, 3}, {3, 7}, {7, 2}).Infer(AttentionAttributes{1.0F, 1}) == "f32[5,2]");
  CHECK(Attention({5, 3}, {7, 3}, {7, 2}).Infer(AttentionAttributes{1.0F, 1}) ==
        "error: there must be 7 keys of 3 elements");
}

TEST_CASE("Attention: operands of one rank and alike batches") {
  const char* const refusal =
      "error: queries, keys and values must have one rank of 2 or more, and alike batches";
  CHECK(Attention({3}, {3}, {2}).Infer() == refusal);
  CHECK(Attention({5, 3}, {1, 7, 3}, {7, 2}).Infer() == refusal);
  CHECK(Attention({2, 5, 3}, {1, 7, 3}, {2, 7, 2}).Infer() == refusal);
  CHECK(Attention({2, 5, 3}, {2, 7, 3}, {1, 7, 2}).Infer() == refusal);
}

TEST_CASE("Attention: as many keys as values, as long as queries, and none empty") {
  CHECK(Attention({5, 3}, {6, 3}, {7, 2}).Infer() == "error: there must be 7 keys of 3 elements");
  CHECK(Attention({5, 4}, {7, 3}, {7, 2}).Infer() == "error: there must be 7 keys of 4 elements");
  CHECK(Attention({5, 3}, {0, 3}, {0, 2}).Infer() == "error: there are no keys, or they are empty");
  CHECK(Attention({5, 0}, {7, 0}, {7, 2}).Infer() == "error: there are no keys, or they are empty");
}

TEST_CASE("Attention: the mask broadcasts to the scores, never beyond them") {
  const OpTester op = Attention({2, 5, 3}, {2, 7, 3}, {2, 7, 2});
  CHECK(OpTester(op).Input(kF32, {7}).Infer() == "f32[2,5,2]");
  CHECK(OpTester(op).Input(kF32, {2, 5, 7}).Infer() == "f32[2,5,2]");
  CHECK(OpTester(op).Input(kF32, {5, 1}).Infer() == "f32[2,5,2]");
  CHECK(OpTester(op).Input(kF32, {2}).Infer() ==
        "error: the mask does not broadcast to the scores");
  CHECK(OpTester(op).Input(kF32, {1, 2, 5, 7}).Infer() ==
        "error: the mask does not broadcast to the scores");
}

TEST_CASE("Attention: the scale is finite, and the flag 0 or 1") {
  const OpTester op = Attention({5, 3}, {7, 3}, {7, 2});
  CHECK(op.Infer(AttentionAttributes{kInfinity, 0}) == "error: the scale must be finite");
  CHECK(op.Infer(AttentionAttributes{kNan, 0}) == "error: the scale must be finite");
  CHECK(op.Infer(AttentionAttributes{1.0F, 2}) == "error: transpose_k must be 0 or 1");
}

}  // namespace
}  // namespace tenon
