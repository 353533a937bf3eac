#include <string>

#include "converter/passes/passes.hpp"
#include "tests/unit/converter/passes/pass_testing.hpp"

namespace tenon::converter {
namespace {

/// The form that the importer of ONNX gives DynamicQuantizeLinear, and those of fusion after it.
constexpr const char* kRange =
    "%l = reduce(%x) {function=min, axes_mask=3, keep_dims=0}\n"
    "%least = binary(%l, %zero) {function=min}\n"
    "%m = reduce(%x) {function=max, axes_mask=3, keep_dims=0}\n"
    "%most = binary(%m, %zero) {function=max}\n"
    "%range = binary(%most, %least) {function=sub}\n"
    "%step = binary(%range, %steps) {function=div}\n"
    "%flat = binary(%step, %zero) {function=equal}\n"
    "%s = select(%flat, %one, %step)\n"
    "%below = binary(%least, %s) {function=div}\n"
    "%negated = unary(%below) {function=neg}\n"
    "%clipped = unary(%negated) {function=clip, a=0, b=255}\n";
constexpr const char* kFusedRange =
    "%l = reduce(%x) {function=min, axes_mask=3, keep_dims=0}\n"
    "%least = unary(%l) {function=clip, a=-inf, b=0}\n"
    "%m = reduce(%x) {function=max, axes_mask=3, keep_dims=0}\n"
    "%most = unary(%m) {function=relu}\n"
    "%range = binary(%most, %least) {function=sub}\n"
    "%step = binary(%range, %steps) {function=div}\n"
    "%flat = binary(%step, %zero) {function=equal}\n"
    "%s = select(%flat, %one, %step)\n"
    "%negated = binary(%least, %s) {function=div, activation=neg}\n"
    "%clipped = unary(%negated) {function=clip, a=0, b=255}\n";
constexpr const char* kDynamicProduct =
    "%rounded = unary(%clipped) {function=round}\n"
    "%z = cast(%rounded) {to=u8}\n"
    "%sv = reshape(%s) {dims=[1]}\n"
    "%zv = reshape(%z) {dims=[1]}\n"
    "%q = quantize(%x, %sv, %zv) {to=u8}\n"
    "%p = quantized_matmul(%q, %w) {to=i32}\n"
    "%zi = cast(%zv) {to=i32}\n"
    "%shift = binary(%sums, %zi) {function=mul}\n"
    "%less = binary(%p, %shift) {function=sub}\n"
    "%floats = cast(%less) {to=f32}\n"
    "%factor = binary(%s, %ws) {function=mul}\n";

std::string Model(const std::string& range, const std::string& end,
                  const std::string& sums = "[4, 6]") {
  return "input %x: f32[3,2]\n"
         "const %zero: f32[] = [0]\n"
         "const %one: f32[] = [1]\n"
         "const %steps: f32[] = [255]\n"
         "const %w: i8[2,2] = [1, 2, 3, 4]\n"
         "const %ws: f32[] = [0.5]\n"
         "const %c: f32[2] = [7, 8]\n"
         "const %sums: i32[2] = " +
         sums + "\n" + range + kDynamicProduct + end;
}

constexpr const char* kSum =
    "%scaled = binary(%floats, %factor) {function=mul}\n"
    "%y = binary(%scaled, %c)\noutput %y\n";

PassResult Run(const std::string& text, bool has_kernel = true) {
  const Pass pass = {"fuse-dynamic-products", [=](Graph& graph, PassContext& context) {
                       context.has_fast_kernel = [=](const Graph&, const Op& op) {
                         return has_kernel && op.kind == OpKind::kDynamicMatMul;
                       };
                       const Status status = FuseDynamicProducts(graph, context);
                       return status;
                     }};
  return RunOn(pass, text);
}

bool Has(const PassResult& result, const std::string& text) {
  return result.text.find(text) != std::string::npos;
}

TEST_CASE("FuseDynamicProducts: range, bytes, product and scales become one op") {
  for (const char* range : {kRange, kFusedRange}) {
    const PassResult result = Run(Model(range, kSum));
    CAPTURE(result.text);
    CHECK(result.report.changed == 1);
    CHECK(Has(result, "%y: f32[3,2] = dynamic_matmul(%x, %w, %c, %ws.vector)"));
    CHECK(Has(result, "const %ws.vector: f32[1] = [0.5]"));
    CHECK_FALSE(Has(result, "quantize"));
    CHECK_FALSE(Has(result, "reduce"));
  }
}

TEST_CASE("FuseDynamicProducts: without a sum, and with an activation behind it") {
  PassResult result =
      Run(Model(kFusedRange, "%y = binary(%floats, %factor) {function=mul}\noutput %y\n"));
  CHECK(Has(result, "%y: f32[3,2] = dynamic_matmul(%x, %w, _, %ws.vector)"));
  result = Run(Model(kFusedRange,
                     "%scaled = binary(%floats, %factor) {function=mul}\n"
                     "%y = binary(%scaled, %c) {activation=relu}\noutput %y\n"));
  CAPTURE(result.text);
  CHECK(Has(result, "dynamic_matmul(%x, %w, %c, %ws.vector)"));
  CHECK(Has(result, "%y: f32[3,2] = unary("));
}

TEST_CASE("FuseDynamicProducts: what reads the range or the bytes too keeps them") {
  const PassResult result = Run(Model(kRange, std::string(kSum) + "output %q\noutput %s\n"));
  CHECK(result.report.changed == 1);
  CHECK(Has(result, "= dynamic_matmul("));
  CHECK(Has(result, "%q: u8[3,2] = quantize(%x, %sv, %zv)"));
}

TEST_CASE("FuseDynamicProducts: other sums, ranges and readers leave the ops as they are") {
  const auto replaced = [](std::string text, const std::string& from, const std::string& to) {
    const size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
  };
  const std::string text = Model(kRange, kSum);
  CHECK(Run(Model(kRange, kSum, "[4, 7]")).report.changed == 0);
  CHECK(Run(replaced(text, "[255]", "[254]")).report.changed == 0);
  CHECK(Run(replaced(text, "const %one: f32[] = [1]", "const %one: f32[] = [2]")).report.changed ==
        0);
  CHECK(Run(replaced(text, "function=clip, a=0, b=255", "function=clip, a=0, b=127"))
            .report.changed == 0);
  CHECK(Run(replaced(text, "function=round", "function=floor")).report.changed == 0);
  CHECK(Run(replaced(text, "reduce(%x) {function=min, axes_mask=3, keep_dims=0}",
                     "reduce(%x) {function=mean, axes_mask=3, keep_dims=0}"))
            .report.changed == 0);
  CHECK(Run(text + "output %p\n").report.changed == 0);
  CHECK(Run(text + "output %floats\n").report.changed == 0);
}

TEST_CASE("FuseDynamicProducts: without a fast kernel nothing changes") {
  const PassResult result = Run(Model(kRange, kSum), /*has_kernel=*/false);
  CHECK(result.report.changed == 0);
  CHECK(result.text == PrintedForTest(Parsed(Model(kRange, kSum))));
  REQUIRE(result.report.declined.size() == 1);
  CHECK(result.report.declined[0].reason == "no fast kernel would run it");
}

}  // namespace
}  // namespace tenon::converter
