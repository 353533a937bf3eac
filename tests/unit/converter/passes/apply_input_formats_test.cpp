#include "converter/passes/apply_input_formats.hpp"

#include <cmath>

#include "converter/passes/fold_input_format.hpp"
#include "tests/unit/converter/passes/pass_testing.hpp"

namespace tenon::converter {
namespace {

Graph Applied(std::string_view text, std::string_view format, bool channels_last = false) {
  Graph graph = Parsed(text);
  auto parsed = ParseInputFormat("x", format);
  if (!parsed.ok()) FAIL(parsed.error().message);
  PassContext context;
  context.input_formats = {*parsed};
  context.images_channels_last = channels_last;
  if (Status status = ApplyInputFormats(graph, context); !status.ok()) {
    FAIL(status.error().message);
  }
  if (Status status = Verify(graph); !status.ok()) FAIL(status.error().message);
  return graph;
}

struct FoldedFormat {
  std::string text;
  PassReport report;
};

FoldedFormat Fold(std::string_view text, std::string_view format) {
  Graph graph = Applied(text, format);
  FoldedFormat folded;
  PassContext context;
  REQUIRE(FoldInputFormats(graph, context).ok());
  folded.report = context.report;
  if (Status status = Verify(graph); !status.ok()) FAIL(status.error().message);
  folded.text = PrintedForTest(graph);
  return folded;
}

std::string ErrorOf(std::string_view text, std::string_view format) {
  Graph graph = Parsed(text);
  auto parsed = ParseInputFormat("x", format);
  if (!parsed.ok()) return parsed.error().message;
  PassContext context;
  context.input_formats = {*parsed};
  const Status status = ApplyInputFormats(graph, context);
  return status.ok() ? "" : status.error().message;
}

constexpr const char* kIdentity = R"(input %x: f32[1,3,4,4]
%y = unary(%x) {function=neg}
output %y
)";

TEST_CASE("Input format: words in any order, numbers separated by colons") {
  const auto format = ParseInputFormat("data", "nhwc,scale=0.5:2:-1e-3,u8,mean=127.5");
  REQUIRE(format.ok());
  CHECK(format->input == "data");
  CHECK(format->dtype == DType::kU8);
  CHECK(format->channels_last);
  CHECK(format->mean == std::vector<float>{127.5F});
  CHECK(format->scale == std::vector<float>{0.5F, 2.0F, -1e-3F});
}

TEST_CASE("Input format: a state's value is no input, and stays as the last run left it") {
  Graph graph = Parsed(kIdentity);
  graph.states.push_back({"x", "y", nullptr});
  PassContext context;
  context.input_formats = {{"x", DType::kF32, true, {}, {}}};
  const Status status = ApplyInputFormats(graph, context);
  REQUIRE(!status.ok());
  CHECK(status.error().message == "input format of 'x': it is a state, and no input of the plan");
}

TEST_CASE("Input format: what is missing, twice there or no number is said") {
  CHECK(ErrorOf(kIdentity, "nhwc") == "input format of 'x': no dtype");
  CHECK(ErrorOf(kIdentity, "u8,u8") == "input format of 'x': two times a dtype");
  CHECK(ErrorOf(kIdentity, "u8,nhwc,nchw") == "input format of 'x': two times a layout");
  CHECK(ErrorOf(kIdentity, "u8,mean=1,mean=2") == "input format of 'x': two times a mean");
  CHECK(ErrorOf(kIdentity, "u8,mean=1:b") == "input format of 'x': 'b' is no number");
  CHECK(ErrorOf(kIdentity, "u8,mean=") == "input format of 'x': '' is no number");
  CHECK(ErrorOf(kIdentity, "u8,mean=nan") == "input format of 'x': 'nan' is no number");
  CHECK(ErrorOf(kIdentity, "u8,scale=0") == "input format of 'x': a scale is 0");
  CHECK(ErrorOf(kIdentity, "u8,hwc") ==
        "input format of 'x': 'hwc' is none of u8, i8, f32, nhwc, nchw, mean=, scale=");
  CHECK(ErrorOf(kIdentity, "u8,mean=1:2") == "input format of 'x': 2 numbers for 3 channels");
}

TEST_CASE("Input format: it must fit the model's input") {
  CHECK(ErrorOf("input %a: f32[1]\n%y = unary(%a) {function=neg}\noutput %y\n", "u8") ==
        "input format of 'x': no such input; there are 'a'");
  CHECK(ErrorOf("input %x: f32[1,3]\n%y = unary(%x) {function=neg}\noutput %y\n", "u8,nhwc") ==
        "input format of 'x': nhwc is for rank 4, the input has rank 2");
  CHECK(
      ErrorOf("input %x: i32[1,3]\n%y = unary(%x) {function=neg}\noutput %y\n", "u8") ==
      "input format of 'x': the model's input is i32, neither f32 nor quantized: its layout alone "
      "can be another, with bytes of its own dtype and no mean or scale");
}

constexpr const char* kBytes = R"(input %x: i8[1,3,4,4]
%y = unary(%x) {function=abs}
output %y
)";

TEST_CASE("Input format: bytes that the model takes itself are turned and nothing else") {
  CHECK(PrintedForTest(Applied(kBytes, "i8,nhwc")) ==
        R"(input %x.i8 as "x": i8[1,4,4,3]
%x.turned: i8[1,3,4,4] = transpose(%x.i8) {permutation=[0,3,1,2]}
%y: i8[1,3,4,4] = unary(%x.turned) {function=abs}
output %y
)");
}

TEST_CASE("Input format: bytes of no known scale have no other dtype, mean or scale") {
  for (const char* format : {"u8,nhwc", "i8,nhwc,mean=1", "i8,scale=0.5", "f32,nhwc"}) {
    CHECK(ErrorOf(kBytes, format).find("neither f32 nor quantized") != std::string::npos);
  }
}

TEST_CASE("Input format: bytes are turned, cast, centred and scaled") {
  CHECK(PrintedForTest(Applied(kIdentity, "u8,nhwc,mean=1:2:3,scale=0.5")) ==
        R"(input %x.u8 as "x": u8[1,4,4,3]
const %x.mean: f32[1,3,1,1] = [1, 2, 3]
const %x.scale: f32[] = [0.5]
%x.turned: u8[1,3,4,4] = transpose(%x.u8) {permutation=[0,3,1,2]}
%x.float: f32[1,3,4,4] = cast(%x.turned)
%x.centred: f32[1,3,4,4] = binary(%x.float, %x.mean) {function=sub}
%x.scaled: f32[1,3,4,4] = binary(%x.centred, %x.scale) {function=mul}
%y: f32[1,3,4,4] = unary(%x.scaled) {function=neg}
output %y
)");
}

TEST_CASE("Input format: nothing is inserted that does nothing") {
  CHECK(PrintedForTest(Applied(kIdentity, "f32,nchw,mean=0:0:0,scale=1")) ==
        R"(input %x.f32 as "x": f32[1,3,4,4]
%y: f32[1,3,4,4] = unary(%x.f32) {function=neg}
output %y
)");
}

constexpr const char* kChannelsLastModel = R"(input %x: f32[1,4,4,3]
%n = transpose(%x) {permutation=[0,3,1,2]}
%y = unary(%n) {function=neg}
output %y
)";

TEST_CASE("Input format: a model whose images are channels-last keeps its own order") {
  CHECK(PrintedForTest(Applied(kChannelsLastModel, "u8,nhwc,mean=1:2:3", true)) ==
        R"(input %x.u8 as "x": u8[1,4,4,3]
const %x.mean: f32[1,1,1,3] = [1, 2, 3]
%x.float: f32[1,4,4,3] = cast(%x.u8)
%x.centred: f32[1,4,4,3] = binary(%x.float, %x.mean) {function=sub}
%n: f32[1,3,4,4] = transpose(%x.centred) {permutation=[0,3,1,2]}
%y: f32[1,3,4,4] = unary(%n) {function=neg}
output %y
)");
  CHECK(PrintedForTest(Applied(kChannelsLastModel, "u8,nchw", true)) ==
        R"(input %x.u8 as "x": u8[1,3,4,4]
%x.turned: u8[1,4,4,3] = transpose(%x.u8) {permutation=[0,2,3,1]}
%x.float: f32[1,4,4,3] = cast(%x.turned)
%n: f32[1,3,4,4] = transpose(%x.float) {permutation=[0,3,1,2]}
%y: f32[1,3,4,4] = unary(%n) {function=neg}
output %y
)");
  CHECK(PrintedForTest(Applied(kChannelsLastModel, "u8", true)).find("u8[1,4,4,3]") !=
        std::string::npos);
}

TEST_CASE("Input format: a port of bytes says what they stand for where one scale does") {
  const auto port = [](std::string_view format) {
    const Graph graph = Applied(kIdentity, format);
    return std::pair(graph.inputs()[0].scale, graph.inputs()[0].zero_point);
  };
  CHECK(port("u8,nhwc,mean=128,scale=0.25") == std::pair(0.25F, 128));
  CHECK(port("u8,nhwc,mean=127.5,scale=0.25") == std::pair(0.0F, 0));
  CHECK(port("u8,nhwc,mean=1:2:3,scale=0.25") == std::pair(0.0F, 0));
  CHECK(port("f32,nhwc,mean=1,scale=0.25") == std::pair(0.0F, 0));
}

constexpr const char* kFirstConv = R"(input %x: f32[1,2,3,3]
const %w: f32[1,2,1,1] = [1, 2]
%y = conv(%x, %w)
output %y
)";

TEST_CASE("Folding: a first convolution reads bytes, its weights take the scale") {
  const FoldedFormat folded = Fold(kFirstConv, "u8,nhwc,mean=3:4,scale=0.5:0.25");
  CHECK(folded.text == R"(input %x.u8 as "x": u8[1,3,3,2]
const %w.of_bytes: f32[1,2,1,1] = [0.5, 0.5]
const %w.mean: f32[2] = [3, 4]
%x.u8.turned: u8[1,2,3,3] = transpose(%x.u8) {permutation=[0,3,1,2]}
%y: f32[1,1,3,3] = conv(%x.u8.turned, %w.of_bytes, _, _, _, %w.mean)
output %y
)");
  CHECK(folded.report.changed == 1);
}

TEST_CASE("Folding: the model's own normalisation is folded with it") {
  const FoldedFormat folded = Fold(R"(input %x: f32[1,2,3,3]
const %m: f32[2,1,1] = [0.5, 0.25]
const %s: f32[] = [4]
const %w: f32[1,2,1,1] = [1, 2]
%a = binary(%x, %m) {function=sub}
%b = binary(%a, %s) {function=mul}
%y = conv(%b, %w)
output %y
)",
                                   "u8,nhwc,scale=0.0078125");
  CHECK(folded.text.find("const %w.of_bytes: f32[1,2,1,1] = [0.03125, 0.0625]") !=
        std::string::npos);
  CHECK(folded.text.find("const %w.mean: f32[2] = [64, 32]") != std::string::npos);
  CHECK(folded.text.find("binary") == std::string::npos);
}

TEST_CASE("Folding: groups take the scales of their own input channels") {
  const FoldedFormat folded = Fold(R"(input %x: f32[1,4,3,3]
const %w: f32[4,2,1,1] = [1, 1, 1, 1, 1, 1, 1, 1]
%y = conv(%x, %w) {group=2}
output %y
)",
                                   "u8,nhwc,scale=1:2:3:4");
  CHECK(folded.text.find("const %w.of_bytes: f32[4,2,1,1] = [1, 2, 1, 2, 3, 4, 3, 4]") !=
        std::string::npos);
}

TEST_CASE("Folding: bytes that are dequantized with a zero point for each channel fold too") {
  Graph graph = Parsed(R"(input %x: u8[1,2,3,3]
const %s: f32[2] = [0.5, 0.25]
const %z: u8[2] = [3, 4]
const %w: f32[1,2,1,1] = [1, 2]
%r = dequantize(%x, %s, %z) {axis=1}
%y = conv(%r, %w)
output %y
)");
  PassContext context;
  REQUIRE(FoldInputFormats(graph, context).ok());
  CHECK(PrintedForTest(graph) == R"(input %x: u8[1,2,3,3]
const %w.of_bytes: f32[1,2,1,1] = [0.5, 0.5]
const %w.mean: f32[2] = [3, 4]
%y: f32[1,1,3,3] = conv(%x, %w.of_bytes, _, _, _, %w.mean)
output %y
)");
}

TEST_CASE("Folding: scales along another dimension than channels keep the conversion") {
  Graph graph = Parsed(R"(input %x: u8[1,2,2,3]
const %s: f32[2] = [0.5, 0.25]
const %w: f32[1,2,1,1] = [1, 2]
%r = dequantize(%x, %s) {axis=2}
%y = conv(%r, %w)
output %y
)");
  PassContext context;
  REQUIRE(FoldInputFormats(graph, context).ok());
  CHECK(context.report.changed == 0);
}

TEST_CASE("Folding: other readers, and values that are no straight line, keep the conversion") {
  const FoldedFormat folded = Fold(R"(input %x: f32[1,2,3,3]
const %w: f32[1,2,1,1] = [1, 2]
%a = unary(%x) {function=relu}
%y = conv(%a, %w)
output %y
)",
                                   "u8,nhwc,mean=3");
  CHECK(folded.report.changed == 0);
  CHECK(folded.text.find("cast") != std::string::npos);
}

TEST_CASE("Folding: a kernel that would be worse is reason enough to leave the convolution") {
  Graph graph = Applied(kFirstConv, "u8,nhwc,mean=3");
  const std::string before = PrintedForTest(graph);
  PassContext context;
  context.why_worse_kernel = [](const Graph&, const Op&, const Op& after) {
    return after.inputs.size() > 5 ? std::string("no kernel likes it") : std::string();
  };
  REQUIRE(FoldInputFormats(graph, context).ok());
  CHECK(PrintedForTest(graph) == before);
  REQUIRE(context.report.declined.size() == 1);
  CHECK(context.report.declined[0].reason == "no kernel likes it");
}

/// A quantized model whose input is (q - zero_point) * 0.5 of i8.
std::string QuantizedModel(int zero_point) {
  return fmt::format(R"(input %x: f32[1,2,3,3]
const %s: f32[1] = [0.5]
const %z: i8[1] = [{0}]
const %w: i8[1,2,1,1] = [1, 2]
const %m: f32[1] = [0.125]
%q = quantize(%x, %s, %z) {{to=i8}}
%y = quantized_conv(%q, %w, _, %m, _, %z) {{to=i8}}
output %y
)",
                     zero_point);
}

TEST_CASE("Folding: a quantized convolution takes the bytes where they are its own input") {
  const FoldedFormat folded = Fold(QuantizedModel(-28), "u8,nhwc,mean=100,scale=0.5");
  CHECK(folded.text == R"(input %x.u8 as "x": u8[1,3,3,2]
const %w: i8[1,2,1,1] = [1, 2]
const %m: f32[1] = [0.125]
const %x.u8.zero_point: u8[1] = [100]
%x.u8.turned: u8[1,2,3,3] = transpose(%x.u8) {permutation=[0,3,1,2]}
%y: i8[1,1,3,3] = quantized_conv(%x.u8.turned, %w, _, %m, _, %x.u8.zero_point)
output %y
)");
  CHECK(folded.report.declined.empty());
}

TEST_CASE("Folding: bytes that are not the quantized input are looked up") {
  // Another scale; a mean that is no whole number; a range that is cut off.
  for (const char* format : {"u8,nhwc,mean=100,scale=0.25", "u8,nhwc,mean=99.5,scale=0.4",
                             "u8,nhwc,mean=90,scale=0.5"}) {
    CAPTURE(format);
    const FoldedFormat folded = Fold(QuantizedModel(-28), format);
    CHECK(folded.text.find("%q.looked_up: i8[1,2,3,3] = lookup(%x.u8.turned, %q.table)") !=
          std::string::npos);
    CHECK(folded.text.find("cast") == std::string::npos);
    CHECK(folded.text.find("quantize(") == std::string::npos);
    REQUIRE(folded.report.declined.size() == 1);
    CHECK(folded.report.declined[0].reason == "a byte is not the quantized value");
  }
}

TEST_CASE("Folding: channels that need several lookups keep the float way") {
  const FoldedFormat folded = Fold(QuantizedModel(-28), "u8,nhwc,mean=100:90,scale=0.5");
  CHECK(folded.report.changed == 0);
  REQUIRE(folded.report.declined.size() == 2);
  CHECK(folded.report.declined[0].reason == "a byte is not the quantized value");
  CHECK(folded.report.declined[1].reason == "channels would need lookups of their own");
}

TEST_CASE("Folding: a model's own lookup from bytes to its input disappears too") {
  std::string table;
  for (int byte = 0; byte < 256; ++byte)
    table += fmt::format("{}{}", byte > 0 ? ", " : "", byte - 128);
  Graph graph = Parsed(fmt::format(R"(input %x: u8[1,3,3,2]
const %t: i8[256] = [{}]
const %w: i8[1,2,1,1] = [1, 2]
const %m: f32[1] = [0.125]
const %z: i8[1] = [-28]
%l = lookup(%x, %t)
%n = transpose(%l) {{permutation=[0,3,1,2]}}
%y = quantized_conv(%n, %w, _, %m, _, %z) {{to=i8}}
output %y
)",
                                   table));
  PassContext context;
  REQUIRE(FoldInputFormats(graph, context).ok());
  REQUIRE(Verify(graph).ok());
  CHECK(PrintedForTest(graph) == R"(input %x: u8[1,3,3,2]
const %w: i8[1,2,1,1] = [1, 2]
const %m: f32[1] = [0.125]
const %x.zero_point: u8[1] = [100]
%x.turned: u8[1,2,3,3] = transpose(%x) {permutation=[0,3,1,2]}
%y: i8[1,1,3,3] = quantized_conv(%x.turned, %w, _, %m, _, %x.zero_point)
output %y
)");
}

TEST_CASE("Byte values: the range and scale of an input are known exactly") {
  const Graph graph = Applied(kFirstConv, "u8,nhwc,mean=3:4,scale=0.5:0.25");
  const auto made = FindByteValues(graph, graph.op(graph.OpOrder().back()).inputs[0]);
  REQUIRE(made.has_value());
  CHECK(made->values.size() == 2);
  CHECK(made->values[0][0] == -1.5F);
  CHECK(made->permutation == std::vector<int32_t>{0, 3, 1, 2});
  CHECK(made->ops == 3);
  CHECK(made->values[0][255] == 126.0F);
  CHECK(made->values[1][0] == -1.0F);
}

TEST_CASE("Input format: an input of a quantized model is quantized again, and folds away") {
  Graph graph = Parsed(R"(input %x: i8[1,3,3,2]
const %w: i8[1,2,1,1] = [1, 2]
const %m: f32[1] = [0.125]
const %z: i8[1] = [-28]
%n = transpose(%x) {permutation=[0,3,1,2]}
%y = quantized_conv(%n, %w, _, %m, _, %z) {to=i8}
output %y
)");
  graph.SetPortQuantization(/*output=*/false, 0, 0.5F, -28);
  const auto format = ParseInputFormat("x", "u8,nhwc,mean=100,scale=0.5");
  REQUIRE(format.ok());
  PassContext context;
  context.input_formats = {*format};
  context.images_channels_last = true;
  REQUIRE(ApplyInputFormats(graph, context).ok());
  REQUIRE(Verify(graph).ok());
  REQUIRE(FoldInputFormats(graph, context).ok());
  REQUIRE(Verify(graph).ok());
  CHECK(PrintedForTest(graph) == R"(input %x.u8 as "x": u8[1,3,3,2]
const %w: i8[1,2,1,1] = [1, 2]
const %m: f32[1] = [0.125]
const %x.u8.zero_point: u8[1] = [100]
%x.u8.turned: u8[1,2,3,3] = transpose(%x.u8) {permutation=[0,3,1,2]}
%y: i8[1,1,3,3] = quantized_conv(%x.u8.turned, %w, _, %m, _, %x.u8.zero_point)
output %y
)");
}

}  // namespace
}  // namespace tenon::converter
