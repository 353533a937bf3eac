#include "runtime/ops/host/op_table.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/host/op_host_row.hpp"
#include "runtime/ops/rows.hpp"

namespace tenon {
namespace {

OpKind Kind(int number) { return static_cast<OpKind>(number); }

TEST_CASE("Op table: every kind has its own row, findable by name") {
  for (int i = 0; i < kOpKindCount; ++i) {
    const OpRow& row = GetOpRow(Kind(i));
    CHECK(row.kind == Kind(i));
    CHECK(FindOpRow(row.name) == &row);  // fails too where two ops have one name
  }
}

TEST_CASE("Op table: unknown names have no row") {
  CHECK(FindOpRow("convolution") == nullptr);
  CHECK(FindOpRow("") == nullptr);
  CHECK(FindOpRow(nullptr) == nullptr);
}

TEST_CASE("Op table: names that text, JSON and boards use stay as they are") {
  const std::vector<std::string> expected = {"conv",
                                             "matmul",
                                             "max_pool",
                                             "average_pool",
                                             "unary",
                                             "binary",
                                             "select",
                                             "reduce",
                                             "softmax",
                                             "lrn",
                                             "concat",
                                             "slice",
                                             "pad",
                                             "reshape",
                                             "transpose",
                                             "expand",
                                             "resize",
                                             "gather",
                                             "cast",
                                             "copy",
                                             "quantize",
                                             "dequantize",
                                             "lookup",
                                             "quantized_conv",
                                             "quantized_matmul",
                                             "quantized_binary",
                                             "quantized_average_pool",
                                             "quantized_reduce",
                                             "quantized_softmax",
                                             "cum_sum",
                                             "layer_norm",
                                             "top_k",
                                             "scatter",
                                             "non_max_suppression",
                                             "attention",
                                             "elementwise",
                                             "dynamic_matmul",
                                             "grid_sample"};
  REQUIRE(expected.size() == kOpKindCount);
  for (int i = 0; i < kOpKindCount; ++i) {
    CHECK(GetOpRow(Kind(i)).name == expected[static_cast<size_t>(i)]);
  }
}

TEST_CASE("Op table: fields cover the attributes word by word, in order, under their own names") {
  for (int i = 0; i < kOpKindCount; ++i) {
    const OpRow& row = GetOpRow(Kind(i));
    CAPTURE(std::string(row.name));
    size_t words = 0;
    std::set<std::string> names;
    for (const AttributeField& field : GetOpHostRow(row.kind).text.fields) {
      CHECK(field.offset == words);
      CHECK(field.count >= 1);
      CHECK(names.insert(field.name).second);
      words += field.count;
    }
    CHECK(words == row.attribute_words);
    CHECK((GetOpHostRow(row.kind).text.default_attributes != nullptr) ==
          (row.attribute_words != 0));
  }
}

TEST_CASE("Op table: enum fields have a distinct name for each value, others have none") {
  for (int i = 0; i < kOpKindCount; ++i) {
    for (const AttributeField& field : GetOpHostRow(Kind(i)).text.fields) {
      CAPTURE(field.name);
      CHECK((field.kind == FieldKind::kEnum) == (field.enum_names != nullptr));
      std::set<std::string> names;
      for (int value = 0; value < field.enum_count; ++value) {
        REQUIRE(field.enum_names[value] != nullptr);
        CHECK(names.insert(field.enum_names[value]).second);
      }
      CHECK((field.enum_count > 0) == (field.kind == FieldKind::kEnum));
    }
  }
}

TEST_CASE("Op table: defaults are those of the attribute structs") {
  const auto same = [](const OpRow& row, const auto& defaults) {
    return row.attribute_words * 4 == sizeof defaults &&
           std::memcmp(GetOpHostRow(row.kind).text.default_attributes, &defaults,
                       sizeof defaults) == 0;
  };
  CHECK(same(kConvRow, ConvAttributes{}));
  CHECK(same(kMatMulRow, MatMulAttributes{}));
  CHECK(same(kMaxPoolRow, PoolAttributes{}));
  CHECK(same(kAveragePoolRow, PoolAttributes{}));
  CHECK(same(kUnaryRow, UnaryAttributes{}));
  CHECK(same(kBinaryRow, BinaryAttributes{}));
  CHECK(same(kReduceRow, ReduceAttributes{}));
  CHECK(same(kSoftmaxRow, SoftmaxAttributes{}));
  CHECK(same(kCumSumRow, CumSumAttributes{}));
  CHECK(same(kTopKRow, TopKAttributes{}));
  CHECK(same(kScatterRow, ScatterAttributes{}));
  CHECK(same(kNonMaxSuppressionRow, NonMaxSuppressionAttributes{}));
  CHECK(same(kAttentionRow, AttentionAttributes{}));
  CHECK(same(kElementwiseRow, ElementwiseAttributes{}));
  CHECK(same(kLrnRow, LrnAttributes{}));
  CHECK(same(kLayerNormRow, LayerNormAttributes{}));
  CHECK(same(kConcatRow, ConcatAttributes{}));
  CHECK(same(kSliceRow, SliceAttributes{}));
  CHECK(same(kPadRow, PadAttributes{}));
  CHECK(same(kReshapeRow, ReshapeAttributes{}));
  CHECK(same(kTransposeRow, TransposeAttributes{}));
  CHECK(same(kExpandRow, ExpandAttributes{}));
  CHECK(same(kResizeRow, ResizeAttributes{}));
  CHECK(same(kGatherRow, GatherAttributes{}));
  CHECK(same(kGridSampleRow, GridSampleAttributes{}));
  CHECK(same(kCastRow, CastAttributes{}));
}

TEST_CASE("Function names: each enumerator has its own") {
  const auto unary = [](UnaryFunction f) {
    return std::string(kUnaryFunctionNames[static_cast<size_t>(f)]);
  };
  CHECK(unary(UnaryFunction::kIdentity) == "identity");
  CHECK(unary(UnaryFunction::kRelu) == "relu");
  CHECK(unary(UnaryFunction::kClip) == "clip");
  CHECK(unary(UnaryFunction::kLeakyRelu) == "leaky_relu");
  CHECK(unary(UnaryFunction::kSigmoid) == "sigmoid");
  CHECK(unary(UnaryFunction::kTanh) == "tanh");
  CHECK(unary(UnaryFunction::kHardSigmoid) == "hard_sigmoid");
  CHECK(unary(UnaryFunction::kHardSwish) == "hard_swish");
  CHECK(unary(UnaryFunction::kElu) == "elu");
  CHECK(unary(UnaryFunction::kSelu) == "selu");
  CHECK(unary(UnaryFunction::kSilu) == "silu");
  CHECK(unary(UnaryFunction::kGelu) == "gelu");
  CHECK(unary(UnaryFunction::kSoftplus) == "softplus");
  CHECK(unary(UnaryFunction::kSoftsign) == "softsign");
  CHECK(unary(UnaryFunction::kMish) == "mish");
  CHECK(unary(UnaryFunction::kExp) == "exp");
  CHECK(unary(UnaryFunction::kLog) == "log");
  CHECK(unary(UnaryFunction::kSqrt) == "sqrt");
  CHECK(unary(UnaryFunction::kReciprocal) == "reciprocal");
  CHECK(unary(UnaryFunction::kErf) == "erf");
  CHECK(unary(UnaryFunction::kAbs) == "abs");
  CHECK(unary(UnaryFunction::kNeg) == "neg");
  CHECK(unary(UnaryFunction::kFloor) == "floor");
  CHECK(unary(UnaryFunction::kCeil) == "ceil");
  CHECK(unary(UnaryFunction::kRound) == "round");
  CHECK(unary(UnaryFunction::kSign) == "sign");
  CHECK(unary(UnaryFunction::kSin) == "sin");
  CHECK(unary(UnaryFunction::kCos) == "cos");
  CHECK(unary(UnaryFunction::kNot) == "not");
  CHECK(unary(UnaryFunction::kAtan) == "atan");
  CHECK(unary(UnaryFunction::kGeluTanh) == "gelu_tanh");

  const auto binary = [](BinaryFunction f) {
    return std::string(kBinaryFunctionNames[static_cast<size_t>(f)]);
  };
  CHECK(binary(BinaryFunction::kAdd) == "add");
  CHECK(binary(BinaryFunction::kSub) == "sub");
  CHECK(binary(BinaryFunction::kMul) == "mul");
  CHECK(binary(BinaryFunction::kDiv) == "div");
  CHECK(binary(BinaryFunction::kPow) == "pow");
  CHECK(binary(BinaryFunction::kMax) == "max");
  CHECK(binary(BinaryFunction::kMin) == "min");
  CHECK(binary(BinaryFunction::kPrelu) == "prelu");
  CHECK(binary(BinaryFunction::kMod) == "mod");
  CHECK(binary(BinaryFunction::kFmod) == "fmod");
  CHECK(binary(BinaryFunction::kEqual) == "equal");
  CHECK(binary(BinaryFunction::kLess) == "less");
  CHECK(binary(BinaryFunction::kLessOrEqual) == "less_or_equal");
  CHECK(binary(BinaryFunction::kGreater) == "greater");
  CHECK(binary(BinaryFunction::kGreaterOrEqual) == "greater_or_equal");
  CHECK(binary(BinaryFunction::kAnd) == "and");
  CHECK(binary(BinaryFunction::kOr) == "or");
  CHECK(binary(BinaryFunction::kXor) == "xor");

  const auto reduce = [](ReduceFunction f) {
    return std::string(kReduceFunctionNames[static_cast<size_t>(f)]);
  };
  CHECK(reduce(ReduceFunction::kSum) == "sum");
  CHECK(reduce(ReduceFunction::kMean) == "mean");
  CHECK(reduce(ReduceFunction::kMax) == "max");
  CHECK(reduce(ReduceFunction::kMin) == "min");
  CHECK(reduce(ReduceFunction::kProd) == "prod");
  CHECK(reduce(ReduceFunction::kL1) == "l1");
  CHECK(reduce(ReduceFunction::kL2) == "l2");
  CHECK(reduce(ReduceFunction::kSumSquare) == "sum_square");
  CHECK(reduce(ReduceFunction::kLogSum) == "log_sum");
  CHECK(reduce(ReduceFunction::kLogSumExp) == "log_sum_exp");
}

}  // namespace
}  // namespace tenon
