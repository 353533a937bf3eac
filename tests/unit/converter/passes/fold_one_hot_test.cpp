#include <fmt/format.h>

#include "converter/passes/passes.hpp"
#include "tests/unit/converter/passes/pass_testing.hpp"

namespace tenon::converter {
namespace {

const Pass kFoldOneHot = {"fold-one-hot", FoldOneHot};

/// A product of one-hot rows of three places with a matrix of two columns.
std::string Product(std::string_view hot, std::string_view product = "matmul(%h, %w)",
                    std::string_view range = "i32[1,3] = [0, 1, 2]",
                    std::string_view matrix = "[1, 2, 3, 4, 5, 6]") {
  return fmt::format(
      "input %x: i32[4,1]\nconst %r: {}\nconst %on: f32[1] = [1]\nconst %off: f32[1] = [0]\n"
      "const %w: f32[3,2] = {}\nconst %b: f32[2] = [10, 20]\n%e = binary(%x, %r) "
      "{{function=equal}}\n%h = {}\n%y = {}\noutput %y\n",
      range, matrix, hot, product);
}

constexpr std::string_view kCast = "cast(%e) {to=f32}";

TEST_CASE("FoldOneHot: one-hot rows times a matrix are rows of it, zeros where out of range") {
  const PassResult result = RunOn(kFoldOneHot,
                                  "input %x: i32[4,1]\n"
                                  "const %r: i32[3] = [0, 1, 2]\n"
                                  "const %w: f32[3,2] = [1, 2, 3, 4, 5, 6]\n"
                                  "%e = binary(%x, %r) {function=equal}\n"
                                  "%h = cast(%e) {to=f32}\n"
                                  "%y = matmul(%h, %w)\n"
                                  "output %y\n");
  CHECK(result.text ==
        "input %x: i32[4,1]\n"
        "const %y/from_end_bound: i32[] = [-1]\n"
        "const %y/in_range_bound: i32[] = [3]\n"
        "const %w.rows: f32[4,2] = [1, 2, 3, 4, 5, 6, 0, 0]\n"
        "%y/from_end: i32[4,1] = binary(%x, %y/from_end_bound) {function=max}\n"
        "%y/in_range: i32[4,1] = binary(%y/from_end, %y/in_range_bound) {function=min}\n"
        "%y/indices: i32[4] = reshape(%y/in_range) {dims=[4]}\n"
        "%y: f32[4,2] = gather(%w.rows, %y/indices)\n"
        "output %y\n");
  CHECK(result.report.changed == 1);
}

TEST_CASE("FoldOneHot: a bias is in every row, and a select makes one-hot rows too") {
  const PassResult result =
      RunOn(kFoldOneHot, Product("select(%e, %on, %off)", "matmul(%h, %w, %b)"));
  CHECK(result.report.changed == 1);
  CHECK(result.text.find("const %w.rows: f32[4,2] = [11, 22, 13, 24, 15, 26, 10, 20]") !=
        std::string::npos);
}

TEST_CASE("FoldOneHot: what is no product of one-hot rows stays") {
  const auto changed = [](const std::string& text) {
    return RunOn(kFoldOneHot, text).report.changed;
  };
  CHECK(changed(Product(kCast)) == 1);
  CHECK(changed(Product(kCast, "matmul(%h, %w)", "i32[1,3] = [0, 1, 3]")) == 0);
  CHECK(changed(Product(kCast, "matmul(%h, %w)", "i32[1,3] = [1, 2, 3]")) == 0);
  CHECK(changed(Product("select(%e, %off, %on)")) == 0);
  CHECK(changed(Product(kCast, "matmul(%h, %w) {activation=relu}")) == 0);
  CHECK(changed(Product(kCast, "matmul(%h, %w)", "i32[1,3] = [0, 1, 2]", "[1, 2, 3, 4, 5, inf]")) ==
        0);
}

TEST_CASE("FoldOneHot: a bias of rows is no bias of columns, though there be as many") {
  const auto changed = [](std::string_view bias) {
    return RunOn(kFoldOneHot, fmt::format("input %x: i32[2,1]\nconst %r: i32[3] = [0, 1, 2]\n"
                                          "const %w: f32[3,2] = [1, 2, 3, 4, 5, 6]\n"
                                          "const %b: f32[{}] = [10, 20]\n%e = binary(%x, %r) "
                                          "{{function=equal}}\n%h = cast(%e) {{to=f32}}\n"
                                          "%y = matmul(%h, %w, %b)\noutput %y\n",
                                          bias))
        .report.changed;
  };
  CHECK(changed("2,1") == 0);
  CHECK(changed("1,2") == 1);
}

TEST_CASE("FoldOneHot: one-hot rows that others read stay for them") {
  std::string text = Product(kCast);
  text += "output %h\n";
  const PassResult result = RunOn(kFoldOneHot, text);
  CHECK(result.report.changed == 1);
  CHECK(result.text.find("%h: f32[4,3] = cast(%e)") != std::string::npos);
}

}  // namespace
}  // namespace tenon::converter
