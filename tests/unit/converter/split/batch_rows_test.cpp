#include "converter/split/batch_rows.hpp"

#include <doctest/doctest.h>

#include <cstring>

#include "tests/support/convert_and_run.hpp"
#include "tests/support/evaluate_graph.hpp"
#include "tests/support/parsed_graph.hpp"

namespace tenon::converter {
namespace {

/// Images through a convolution, a merge of the batch with the height, and a product.
constexpr const char* kRows = R"(graph g
input %x: f32[6,4,5,5]
const %w: f32[3,4,3,3] = random(1)
const %m: f32[5,7] = random(2)
const %b: f32[7] = random(3)
%c = conv(%x, %w) {pads=[1,1,1,1]} "conv"
%r = reshape(%c) {dims=[90,5]} "merge"
%p = matmul(%r, %m, %b) "product"
%s = softmax(%p) {axis=1} "softmax"
%t = reshape(%s) {dims=[6,3,35]} "part"
%u = transpose(%t) {permutation=[0,2,1]} "turn"
output %u
)";

/// What is left of the mean over the batch: it cannot be computed row by row.
constexpr const char* kNormalised = R"(graph g
input %x: f32[6,4]
%m = reduce(%x) {function=mean, axes_mask=1, keep_dims=1} "mean"
%d = binary(%x, %m) {function=sub} "centred"
output %d
)";

TEST_CASE("FindBatchRows: convolutions, products and reshapes work row by row") {
  const Graph graph = Parsed(kRows);
  const BatchRows batch = FindBatchRows(graph);
  CHECK(batch.rows == 6);
  CHECK(batch.apart);
  CHECK(batch.why_whole == "");
}

TEST_CASE("FindBatchRows: a reduction over the batch needs it whole and is named") {
  const BatchRows batch = FindBatchRows(Parsed(kNormalised));
  CHECK(batch.rows == 6);
  CHECK_FALSE(batch.apart);
  CHECK(batch.why_whole == "'mean' (reduce) needs the whole batch at once");
}

TEST_CASE("FindBatchRows: softmax, gather and running sums over the batch need it whole") {
  for (const char* op :
       {"softmax(%x) {axis=0}", "cum_sum(%x) {axis=0}", "gather(%x, %i) {axis=0}"}) {
    CAPTURE(op);
    const std::string text = std::string("graph g\ninput %x: f32[6,6]\n") +
                             "const %i: i64[6] = random(1)\n%y = " + op + " \"whole\"\noutput %y\n";
    const BatchRows batch = FindBatchRows(Parsed(text));
    CHECK_FALSE(batch.apart);
    CHECK(batch.why_whole.find("'whole'") == 0);
  }
}

TEST_CASE("FindBatchRows: a constant that differs from row to row keeps the batch together") {
  const BatchRows batch = FindBatchRows(Parsed(R"(graph g
input %x: f32[6,4]
const %c: f32[6,4] = random(1)
%y = binary(%x, %c) {function=add} "add"
output %y
)"));
  CHECK_FALSE(batch.apart);
}

TEST_CASE("FindBatchRows: a transpose that leaves the batch behind in the output keeps it whole") {
  const BatchRows batch = FindBatchRows(Parsed(R"(graph g
input %x: f32[6,6]
%y = transpose(%x) {permutation=[1,0]} "turn"
output %y
)"));
  CHECK_FALSE(batch.apart);
  CHECK(batch.why_whole.find("output") == 0);
}

TEST_CASE("FindBatchRows: inputs without a first dimension in common have no batch") {
  const BatchRows batch = FindBatchRows(Parsed(R"(graph g
input %x: f32[6,4]
input %z: f32[1,4]
%y = binary(%x, %z) {function=add} "add"
output %y
)"));
  CHECK(batch.rows == 0);
  CHECK_FALSE(batch.apart);
}

TEST_CASE("WithRows: rows of a smaller batch are the same bits as those of the whole") {
  const Graph graph = Parsed(kRows);
  const BatchRows batch = FindBatchRows(graph);
  const auto inputs = test::RandomInputs(graph, 1);
  const test::Evaluation whole = test::EvaluateGraph(graph, inputs);
  REQUIRE(whole.error.empty());
  const auto& expected = whole.values.at(graph.outputs()[0].tensor);
  for (const int32_t rows : {1, 2, 4, 5}) {
    CAPTURE(rows);
    auto part = WithRows(graph, batch, rows);
    if (!part.ok()) FAIL(part.error().message);
    const size_t in = inputs[0].size() / 6 * static_cast<size_t>(rows);
    const test::Evaluation some = test::EvaluateGraph(
        *part, {{inputs[0].begin(), inputs[0].begin() + static_cast<std::ptrdiff_t>(in)}});
    REQUIRE(some.error.empty());
    const auto& values = some.values.at(part->outputs()[0].tensor);
    REQUIRE(values.size() == expected.size() / 6 * static_cast<size_t>(rows));
    CHECK(std::memcmp(values.data(), expected.data(), values.size()) == 0);
  }
}

}  // namespace
}  // namespace tenon::converter
