// Vectors as the diagonals of matrices.
#include <doctest/doctest.h>

#include "tests/unit/converter/import/tflite/run_steps.hpp"

namespace tenon::converter::test {
namespace {

using Op = format::BuiltinOperator;
using Dims = std::vector<int32_t>;
using Floats = std::vector<float>;

TEST_CASE("TFLite lowering: MATRIX_DIAG and MATRIX_SET_DIAG put vectors on diagonals") {
  TfliteBuilder made;
  const int32_t d = made.Input("d", kF32, {2, 2});
  made.Node(Op::MATRIX_DIAG, {d}, {made.Output("y", kF32, {2, 2, 2})});
  CHECK(RunStep(made, {{"d", {1, 2, 3, 4}}})["y"] == Floats{1, 0, 0, 2, 3, 0, 0, 4});
  for (const bool tall : {false, true}) {
    TfliteBuilder set;
    const Dims dims = tall ? Dims{3, 2} : Dims{2, 3};
    const int32_t x = set.Input("x", kF32, dims);
    const int32_t diagonal = set.Input("d", kF32, {2});
    set.Node(Op::MATRIX_SET_DIAG, {x, diagonal}, {set.Output("y", kF32, dims)});
    const Floats expected = tall ? Floats{8, 2, 3, 9, 5, 6} : Floats{8, 2, 3, 4, 9, 6};
    CHECK(RunStep(set, {{"x", {1, 2, 3, 4, 5, 6}}, {"d", {8, 9}}})["y"] == expected);
  }
}

}  // namespace
}  // namespace tenon::converter::test
