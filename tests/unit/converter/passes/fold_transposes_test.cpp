#include <string>

#include "converter/passes/passes.hpp"
#include "tests/unit/converter/passes/pass_testing.hpp"

namespace tenon::converter {
namespace {

const Pass kFoldTransposes = {"fold-transposes", FoldTransposes};

/// A product of x and of a transpose of v, with what follows it.
std::string ProductOf(const std::string& v, const std::string& transpose,
                      const std::string& product, const std::string& end = "output %y\n") {
  return "graph g\ninput %x: f32[2,3,4]\ninput %v: f32[" + v + "]\n%t = transpose(%v) " +
         transpose + "\n%y = matmul(%x, %t)" + product + "\n" + end;
}

TEST_CASE("FoldTransposes: a product reads its second factor as it is before a transpose") {
  const std::string text =
      RunOn(kFoldTransposes, ProductOf("2,5,4", "{permutation=[0,2,1]}", "")).text;
  CHECK(Contains(text, "%y: f32[2,3,5] = matmul(%x, %v) {transpose_b=1}"));
  CHECK_FALSE(Contains(text, "transpose("));
}

TEST_CASE("FoldTransposes: a product that transposes what was transposed reads it plainly") {
  const std::string text =
      RunOn(kFoldTransposes, ProductOf("2,4,5", "{permutation=[0,2,1]}", " {transpose_b=1}")).text;
  CHECK(Contains(text, "%y: f32[2,3,5] = matmul(%x, %v)\n"));
}

TEST_CASE("FoldTransposes: a transpose that others read too stays for them") {
  const std::string text = RunOn(kFoldTransposes, ProductOf("2,5,4", "{permutation=[0,2,1]}", "",
                                                            "output %y\noutput %t\n"))
                               .text;
  CHECK(Contains(text, "matmul(%x, %v) {transpose_b=1}"));
  CHECK(Contains(text, "%t: f32[2,4,5] = transpose(%v)"));
}

TEST_CASE("FoldTransposes: transposes that move other dimensions, too, are left") {
  const std::string moved =
      "graph g\ninput %x: f32[3,2,3,4]\ninput %v: f32[2,3,5,4]\n"
      "%t = transpose(%v) {permutation=[1,0,3,2]}\n%y = matmul(%x, %t)\noutput %y\n";
  CHECK(Contains(RunOn(kFoldTransposes, moved).text, "matmul(%x, %t)"));
  const std::string text =
      RunOn(kFoldTransposes, ProductOf("4,2,5", "{permutation=[1,0,2]}", "")).text;
  CHECK(Contains(text, "matmul(%x, %t)"));
}

}  // namespace
}  // namespace tenon::converter
