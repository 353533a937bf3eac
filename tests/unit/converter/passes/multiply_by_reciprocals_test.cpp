#include <string>

#include "converter/passes/passes.hpp"
#include "tests/unit/converter/passes/pass_testing.hpp"

namespace tenon::converter {
namespace {

const Pass kMultiply = {"multiply-by-reciprocals", MultiplyByReciprocals};

std::string Multiplied(const std::string& ops) {
  return RunOn(kMultiply, "graph g\ninput %x: f32[2,2]\n" + ops).text;
}

bool Divides(const std::string& ops) {
  return Multiplied(ops).find("function=div") != std::string::npos;
}

TEST_CASE("MultiplyByReciprocals: powers of two are exact, whatever reads the quotients") {
  CHECK(Multiplied("const %c: f32[2] = [4, -0.5]\n"
                   "%y = binary(%x, %c) {function=div, activation=floor}\n"
                   "output %y\n") ==
        "input %x: f32[2,2]\n"
        "const %c.reciprocal: f32[2] = [0.25, -2]\n"
        "%y: f32[2,2] = binary(%x, %c.reciprocal) {function=mul, activation=floor}\n"
        "output %y\n");
}

TEST_CASE("MultiplyByReciprocals: other quotients where products, sums or softmax read them") {
  const std::string quotient = "const %c: f32[1] = [3]\n%q = binary(%x, %c) {function=div}\n";
  CHECK_FALSE(Divides(quotient + "%y = binary(%q, %x) {function=mul}\noutput %y\n"));
  CHECK_FALSE(Divides(quotient + "%y = binary(%q, %q) {function=mul}\noutput %y\n"));
  CHECK_FALSE(Divides(quotient + "%y = matmul(%x, %q)\noutput %y\n"));
  CHECK_FALSE(Divides(quotient + "%y = softmax(%q) {axis=1}\noutput %y\n"));
  CHECK_FALSE(Divides(quotient + "%y = reduce(%q) {function=sum, axes_mask=2}\noutput %y\n"));
}

TEST_CASE("MultiplyByReciprocals: quotients that others read, or that may become whole, stay") {
  const std::string quotient = "const %c: f32[1] = [3]\n%q = binary(%x, %c) {function=div}\n";
  const std::string product = "%y = binary(%q, %x) {function=mul}\noutput %y\n";
  CHECK(Divides(quotient + "output %q\n"));
  CHECK(Divides(quotient + product + "output %q\n"));
  CHECK(Divides(quotient + "%y = unary(%q) {function=floor}\noutput %y\n"));
  CHECK(Divides(quotient + "%y = binary(%q, %x) {function=less}\noutput %y\n"));
  CHECK(Divides(quotient + "%y = binary(%q, %x) {function=mul, activation=floor}\noutput %y\n"));
  CHECK(Divides(quotient + "const %d: f32[1] = [6]\n%y = binary(%q, %d) {function=mul}\n"
                           "output %y\n"));
}

TEST_CASE("MultiplyByReciprocals: divisors without a normal reciprocal stay") {
  for (const char* divisor : {"0", "1e-40", "3e38", "-3e38"}) {
    CAPTURE(divisor);
    CHECK(Divides("const %c: f32[2] = [2, " + std::string(divisor) +
                  "]\n%q = binary(%x, %c) {function=div}\n"
                  "%y = binary(%q, %x) {function=mul}\noutput %y\n"));
  }
  CHECK(
      Divides("input %c: f32[1]\n%q = binary(%x, %c) {function=div}\n"
              "%y = binary(%q, %x) {function=mul}\noutput %y\n"));
}

}  // namespace
}  // namespace tenon::converter
