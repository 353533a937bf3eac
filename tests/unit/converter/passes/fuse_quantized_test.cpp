#include "converter/fold/fold_tensors.hpp"
#include "converter/passes/passes.hpp"
#include "tests/unit/converter/passes/pass_testing.hpp"

namespace tenon::converter {
namespace {

const Pass kFuseQuantized{"fuse-quantized", [](Graph& graph, PassContext& context) {
                            context.fold = FoldTensors;
                            return FuseQuantized(graph, context);
                          }};

/// x: a quantized image of two channels and what it stands for; y's scale.
const std::string kQuantizedHead =
    "input %x: i8[1,2,2,2]\n"
    "const %xs: f32[1] = [0.5]\n"
    "const %xz: i8[1] = [3]\n"
    "const %ys: f32[1] = [0.25]\n"
    "const %yz: i8[1] = [-5]\n";
const std::string kReal = "%r = dequantize(%x, %xs, %xz)\n";
const std::string kWeights =
    "const %w: i8[2,2,1,1] = [1, 2, 3, 4]\n"
    "const %ws: f32[2] = [0.125, 2]\n"
    "%wr = dequantize(%w, %ws)\n";
/// Constants of what a convolution becomes.
const std::string kFactors =
    "const %c.multiplier: f32[2] = [0.25, 4]\n"
    "const %c.x_zero_point: i8[1] = [3]\n";

std::string FusedQuantized(const std::string& text) { return RunOn(kFuseQuantized, text).text; }

/// The text without its inputs, constants and outputs.
std::string OpsOf(const std::string& text) {
  std::string ops;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    if (text[begin] == '%') ops += text.substr(begin, end - begin + 1);
    begin = end + 1;
  }
  return ops;
}

TEST_CASE("FuseQuantized: a convolution takes its bias in units of its sum") {
  const std::string text = FusedQuantized(kQuantizedHead + kReal + kWeights +
                                          "const %b: f32[2] = [0.625, -3]\n"
                                          "%c = conv(%r, %wr, %b)\n"
                                          "%y = quantize(%c, %ys, %yz)\n"
                                          "output %y\n");
  CHECK(text ==
        "input %x: i8[1,2,2,2]\n"
        "const %w: i8[2,2,1,1] = [1, 2, 3, 4]\n"
        "const %c.bias: i32[2] = [10, -3]\n" +
            kFactors +
            "%y: i8[1,2,2,2] = quantized_conv(%x, %w, %c.bias, %c.multiplier, _, %c.x_zero_point) "
            "{zero_point=-5} \"c\"\n"
            "output %y\n");
}

TEST_CASE("FuseQuantized: a bias in i32 stays as it is where its units are the sum's") {
  const std::string text = FusedQuantized(kQuantizedHead + kReal + kWeights +
                                          "const %b: i32[2] = [1000000007, -3]\n"
                                          "const %bs: f32[2] = [0.06250001, 1]\n"
                                          "%br = dequantize(%b, %bs)\n"
                                          "%c = conv(%r, %wr, %br)\n"
                                          "%y = quantize(%c, %ys, %yz)\n"
                                          "output %y\n");
  CHECK(Contains(text, "const %c.bias: i32[2] = [1000000007, -3]\n"));
}

TEST_CASE("FuseQuantized: channels of a convolution's input may have zero points of their own") {
  const std::string text = FusedQuantized(
      "input %x: u8[1,2,2,2]\n"
      "const %xs: f32[2] = [0.5, 0.5]\n"
      "const %xz: u8[2] = [3, 200]\n"
      "%r = dequantize(%x, %xs, %xz) {axis=1}\n" +
      kWeights +
      "%c = conv(%r, %wr)\n"
      "output %c\n");
  CHECK(text ==
        "input %x: u8[1,2,2,2]\n"
        "const %w: i8[2,2,1,1] = [1, 2, 3, 4]\n"
        "const %c.multiplier: f32[2] = [0.0625, 1]\n"
        "const %c.x_zero_point: u8[2] = [3, 200]\n"
        "%c: f32[1,2,2,2] = quantized_conv(%x, %w, _, %c.multiplier, _, %c.x_zero_point) {to=f32}\n"
        "output %c\n");
}

TEST_CASE("FuseQuantized: scales that differ between a convolution's input channels stay float") {
  const std::string text = FusedQuantized(
      "input %x: u8[1,2,2,2]\n"
      "const %xs: f32[2] = [0.5, 0.25]\n"
      "const %xz: u8[2] = [3, 200]\n"
      "%r = dequantize(%x, %xs, %xz) {axis=1}\n" +
      kWeights +
      "%c = conv(%r, %wr)\n"
      "output %c\n");
  CHECK(!Contains(text, "quantized_conv"));
}

TEST_CASE("FuseQuantized: a bias may be as large as its type where weights are 0") {
  const std::string text = FusedQuantized(kQuantizedHead + kReal +
                                          "const %w: i8[2,2,1,1] = [0, 0, 3, 4]\n"
                                          "const %ws: f32[2] = [0.125, 2]\n"
                                          "const %b: i32[2] = [-2147483647, 2147480000]\n"
                                          "const %bs: f32[2] = [0.0625, 1]\n"
                                          "%wr = dequantize(%w, %ws)\n"
                                          "%br = dequantize(%b, %bs)\n"
                                          "%c = conv(%r, %wr, %br)\n"
                                          "%y = quantize(%c, %ys, %yz)\n"
                                          "output %y\n");
  CHECK(Contains(text, "const %c.bias: i32[2] = [-2147483647, 2147480000]\n"));
}

TEST_CASE("FuseQuantized: a dead channel's bias is cut to what its sum leaves room for") {
  const std::string text = FusedQuantized(kQuantizedHead + kReal +
                                          "const %w: i8[2,2,1,1] = [127, 127, 3, 4]\n"
                                          "const %ws: f32[2] = [1e-15, 2]\n"
                                          "const %b: i32[2] = [-2147483648, 7]\n"
                                          "const %bs: f32[2] = [5e-16, 1]\n"
                                          "%wr = dequantize(%w, %ws)\n"
                                          "%br = dequantize(%b, %bs)\n"
                                          "%c = conv(%r, %wr, %br)\n"
                                          "%y = quantize(%c, %ys, %yz)\n"
                                          "output %y\n");
  // x is from 131 below its zero point to 124 above it: 254 * 131 may be added.
  CHECK(Contains(text, "const %c.bias: i32[2] = [-2147450373, 7]\n"));
}

TEST_CASE("FuseQuantized: relu and clip become bounds of the output, wherever they stand") {
  const auto bounds = [&](const std::string& ops) {
    return OpsOf(FusedQuantized(kQuantizedHead + kReal + kWeights + ops + "output %y\n"));
  };
  const std::string op =
      "%y: i8[1,2,2,2] = quantized_conv(%x, %w, _, %c.multiplier, _, %c.x_zero_point) ";
  CHECK(bounds("%c = conv(%r, %wr) {activation=relu}\n%y = quantize(%c, %ys, %yz)\n") ==
        op + "{zero_point=-5, min=-5} \"c\"\n");
  CHECK(bounds("%c = conv(%r, %wr)\n%a = unary(%c) {function=clip, a=0, b=6}\n"
               "%y = quantize(%a, %ys, %yz)\n") == op + "{zero_point=-5, min=-5, max=19} \"c\"\n");
  CHECK(bounds("const %six: f32[] = [6]\n%c = conv(%r, %wr)\n"
               "%a = unary(%c) {function=relu}\n%m = binary(%a, %six) {function=min}\n"
               "%y = quantize(%m, %ys, %yz)\n") == op + "{zero_point=-5, min=-5, max=19} \"c\"\n");
}

TEST_CASE("FuseQuantized: a bias added behind a product is its bias") {
  const std::string text = FusedQuantized(kQuantizedHead + kReal + kWeights +
                                          "const %b: f32[2,1,1] = [0.625, -3]\n"
                                          "%c = conv(%r, %wr)\n"
                                          "%a = binary(%c, %b)\n"
                                          "%y = quantize(%a, %ys, %yz)\n"
                                          "output %y\n");
  CHECK(Contains(text, "const %c.bias: i32[2] = [10, -3]\n"));
  CHECK(OpsOf(text) ==
        "%y: i8[1,2,2,2] = quantized_conv(%x, %w, %c.bias, %c.multiplier, _, %c.x_zero_point) "
        "{zero_point=-5} \"c\"\n");
}

TEST_CASE("FuseQuantized: a product whose result something else reads stays float behind its sum") {
  const std::string text = FusedQuantized(kQuantizedHead + kReal + kWeights +
                                          "%c = conv(%r, %wr) {activation=relu}\n"
                                          "%y = quantize(%c, %ys, %yz)\n"
                                          "output %y\n"
                                          "output %c\n");
  CHECK(OpsOf(text) ==
        "%c.sum: f32[1,2,2,2] = quantized_conv(%x, %w, _, %c.multiplier, _, %c.x_zero_point) "
        "{to=f32} \"c\"\n"
        "%c: f32[1,2,2,2] = unary(%c.sum) {function=relu} \"c.activation\"\n"
        "%y: i8[1,2,2,2] = quantize(%c, %ys, %yz)\n");
}

TEST_CASE("FuseQuantized: a residual comes apart") {
  const std::string text = FusedQuantized(kQuantizedHead + kReal + kWeights +
                                          "%c = conv(%r, %wr, _, %r) {activation=relu}\n"
                                          "output %c\n");
  CHECK(OpsOf(text) ==
        "%r: f32[1,2,2,2] = dequantize(%x, %xs, %xz)\n"
        "%c.sum: f32[1,2,2,2] = quantized_conv(%x, %w, _, %c.multiplier, _, %c.x_zero_point) "
        "{to=f32} \"c\"\n"
        "%c: f32[1,2,2,2] = binary(%c.sum, %r) {activation=relu} \"c.residual\"\n");
}

TEST_CASE("FuseQuantized: weights of u8 around 128 become i8, others keep their zero point") {
  const auto weights = [&](const std::string& zero_point) {
    return FusedQuantized(kQuantizedHead + kReal +
                          "const %w: u8[2,2,1,1] = [0, 127, 128, 255]\n"
                          "const %ws: f32[1] = [0.5]\nconst %wz: u8[1] = [" +
                          zero_point +
                          "]\n"
                          "%wr = dequantize(%w, %ws, %wz)\n"
                          "%c = conv(%r, %wr)\n%y = quantize(%c, %ys, %yz)\noutput %y\n");
  };
  const std::string symmetric = weights("128");
  CHECK(Contains(symmetric, "const %w.i8: i8[2,2,1,1] = [-128, -1, 0, 127]\n"));
  CHECK(!Contains(symmetric, "w_zero_point"));
  const std::string other = weights("120");
  CHECK(Contains(other, "const %c.w_zero_point: u8[1] = [120]\n"));
  CHECK(Contains(other,
                 "quantized_conv(%x, %w, _, %c.multiplier, _, %c.x_zero_point, "
                 "%c.w_zero_point)"));
}

TEST_CASE("FuseQuantized: scales of transposed weights run along their rows") {
  const std::string text = FusedQuantized(
      "input %x: u8[1,2]\n"
      "const %xs: f32[1] = [0.5]\n"
      "const %ys: f32[1] = [0.25]\n"
      "const %w: i8[3,2] = [1, 2, 3, 4, 5, 6]\n"
      "const %ws: f32[3] = [0.125, 2, 1]\n"
      "const %b: f32[3] = [1, 1, 1]\n"
      "%r = dequantize(%x, %xs)\n"
      "%wr = dequantize(%w, %ws)\n"
      "%c = matmul(%r, %wr, %b) {transpose_b=1}\n"
      "%y = quantize(%c, %ys) {to=u8}\n"
      "output %y\n");
  CHECK(Contains(text, "const %c.bias: i32[3] = [16, 1, 2]\n"));
  CHECK(OpsOf(text) ==
        "%y: u8[1,3] = quantized_matmul(%x, %w, %c.bias, %c.multiplier) "
        "{transpose_b=1, to=u8, min=0, max=255} \"c\"\n");
}

// Scales of a real layer: 2324 * 0.008820999 is 20.500002, with the exact factor 20.5, which halves
// to even round to another integer.
TEST_CASE("FuseQuantized: factors are rounded after the product and after the quotient") {
  const std::string text = FusedQuantized(
      "input %x: u8[1,2]\n"
      "const %xs: f32[1] = [0.04392467]\n"
      "const %ys: f32[1] = [0.021204606]\n"
      "const %w: i8[1,2] = [1, 2]\n"
      "const %ws: f32[1] = [0.0042583314]\n"
      "%r = dequantize(%x, %xs)\n"
      "%wr = dequantize(%w, %ws)\n"
      "%c = matmul(%r, %wr) {transpose_b=1}\n"
      "%y = quantize(%c, %ys) {to=u8}\n"
      "output %y\n");
  INFO(text);
  CHECK(Contains(text, "const %c.multiplier: f32[1] = [0.008820999]\n"));
}

TEST_CASE("FuseQuantized: sums, averages and softmax of quantized tensors") {
  const auto fused = [&](const std::string& ops) {
    return OpsOf(FusedQuantized(kQuantizedHead + kReal + ops + "output %y\n"));
  };
  CHECK(fused("input %z: u8[1,2,2,2]\nconst %zs: f32[1] = [2]\n"
              "%t = dequantize(%z, %zs)\n%s = binary(%r, %t) {activation=relu}\n"
              "%y = quantize(%s, %ys, %yz)\n") ==
        "%y: i8[1,2,2,2] = quantized_binary(%x, %z) {x_zero_point=3, x_scale=0.5, y_scale=2, "
        "output_scale=0.25, zero_point=-5, min=-5} \"s\"\n");
  CHECK(fused("%p = average_pool(%r) {kernel=[2, 2]}\n%y = quantize(%p, %ys, %yz)\n") ==
        "%y: i8[1,2,1,1] = quantized_average_pool(%x) {kernel=[2,2], x_zero_point=3, scale=2, "
        "zero_point=-5} \"p\"\n");
  CHECK(fused("%p = reduce(%r) {function=mean, axes_mask=12}\n%y = quantize(%p, %ys, %yz)\n") ==
        "%y: i8[1,2,1,1] = quantized_reduce(%x) {axes_mask=12, x_zero_point=3, scale=0.5, "
        "zero_point=-5} \"p\"\n");
  CHECK(fused("%p = softmax(%r) {axis=1}\n%y = quantize(%p, %ys, %yz)\n") ==
        "%y: i8[1,2,2,2] = quantized_softmax(%x) {axis=1, scale=0.5, output_scale=0.25, "
        "zero_point=-5} \"p\"\n");
}

TEST_CASE("FuseQuantized: rows are normalised as bytes; scales are part of the parameters") {
  const std::string parameters =
      "const %g: f32[2] = [1, 2]\nconst %bi: i8[2] = [4, -8]\nconst %bs: f32[1] = [0.5]\n"
      "%b = dequantize(%bi, %bs)\n";
  const auto fused = [&](const std::string& ops) {
    return FusedQuantized(kQuantizedHead + kReal + parameters + ops + "output %y\n");
  };
  const std::string text =
      fused("%n = layer_norm(%r, %g, %b) {epsilon=0.5}\n%y = quantize(%n, %ys, %yz)\n");
  CAPTURE(text);
  CHECK(OpsOf(text) ==
        "%y: i8[1,2,2,2] = layer_norm(%x, %n.scale_of_bytes, %n.bias_of_bytes) {epsilon=2} "
        "\"n\"\n");
  CHECK(Contains(text, "const %n.scale_of_bytes: f32[2] = [4, 8]\n"));   // 1 / 0.25, 2 / 0.25
  CHECK(Contains(text, "const %n.bias_of_bytes: f32[2] = [3, -21]\n"));  // 2 / 0.25 - 5
  // Without the mean the zero point of 3 would count; other bytes, and bounds, are no part of it.
  for (const char* ops :
       {"%n = layer_norm(%r, %g) {rms=1}\n%y = quantize(%n, %ys, %yz)\n",
        "%n = layer_norm(%r, %g)\n%y = quantize(%n, %ys) {to=u8}\n",
        "%n = layer_norm(%r, %g)\n%k = unary(%n) {function=relu}\n%y = quantize(%k, %ys, %yz)\n"}) {
    CHECK(Contains(fused(ops), "= quantize("));
  }
}

TEST_CASE("FuseQuantized: functions of one tensor become one table") {
  const std::string text = FusedQuantized(kQuantizedHead + kReal +
                                          "const %three: f32[] = [3]\n"
                                          "%a = binary(%r, %three)\n"
                                          "%k = unary(%a) {function=clip, a=0, b=6}\n"
                                          "%m = binary(%k, %r) {function=mul}\n"
                                          "%y = quantize(%m, %ys, %yz)\n"
                                          "output %y\n");
  CHECK(OpsOf(text) == "%y: i8[1,2,2,2] = lookup(%x, %y.table) \"m\"\n");
}

TEST_CASE("FuseQuantized: other parameters are a table, the same ones nothing") {
  const std::string other =
      FusedQuantized(kQuantizedHead + kReal + "%y = quantize(%r, %ys, %yz)\noutput %y\n");
  CHECK(OpsOf(other) == "%y: i8[1,2,2,2] = lookup(%x, %y.table)\n");
  const std::string same = FusedQuantized(kQuantizedHead + kReal +
                                          "%q = quantize(%r, %xs, %xz)\n"
                                          "%y = unary(%q) {function=identity}\n"
                                          "output %y\n");
  CHECK(OpsOf(same) == "%y: i8[1,2,2,2] = unary(%x)\n");
}

TEST_CASE("FuseQuantized: bounds, and the 128 between i8 and u8, go into the op before") {
  const std::string unsigned_y = "const %uz: u8[1] = [123]\n";
  const auto fused = [&](const std::string& ops) {
    return OpsOf(FusedQuantized(kQuantizedHead + kReal + unsigned_y + ops + "output %y\n"));
  };
  CHECK(fused("%p = softmax(%r) {axis=1}\n%q = quantize(%p, %ys, %yz)\n"
              "%d = dequantize(%q, %ys, %yz)\n%a = unary(%d) {function=clip, a=0, b=6}\n"
              "%m = unary(%a) {function=clip, a=1, b=9}\n"
              "%y = quantize(%m, %ys, %uz) {to=u8}\n") ==
        "%y: u8[1,2,2,2] = quantized_softmax(%x) {axis=1, scale=0.5, output_scale=0.25, to=u8, "
        "zero_point=123, min=127, max=147} \"p\"\n");
  CHECK(OpsOf(FusedQuantized(
            kQuantizedHead + unsigned_y +
            "input %f: f32[2]\n%q = quantize(%f, %ys, %yz)\n%d = dequantize(%q, %ys, %yz)\n"
            "%y = quantize(%d, %ys, %uz) {to=u8}\n"
            "output %y\n")) == "%y: u8[2] = quantize(%f, %ys, %uz) {to=u8} \"q\"\n");
}

TEST_CASE("FuseQuantized: what moves elements works on bytes, on either side") {
  const auto fused = [&](const std::string& ops) {
    return OpsOf(FusedQuantized(kQuantizedHead + ops + "output %y\n"));
  };
  CHECK(fused(kReal + "%m = max_pool(%r) {kernel=[2, 2]}\n"
                      "%p = pad(%m) {value=0.5, begins=[0, 0, 1, 0], ends=[0, 0, 0, 0]}\n"
                      "%y = unary(%p) {function=exp}\n") ==
        "%m.quantized: i8[1,2,1,1] = max_pool(%x) {kernel=[2,2]} \"m\"\n"
        "%p.quantized: i8[1,2,2,1] = pad(%m.quantized) {value=4, begins=[0,0,1,0], "
        "ends=[0,0,0,0]} \"p\"\n"
        "%p: f32[1,2,2,1] = dequantize(%p.quantized, %xs, %xz) \"r\"\n"
        "%y: f32[1,2,2,1] = unary(%p) {function=exp}\n");
  CHECK(fused("input %f: f32[2,2]\n%e = unary(%f) {function=exp}\n"
              "%t = transpose(%e) {permutation=[1, 0]}\n%y = quantize(%t, %ys, %yz)\n") ==
        "%e: f32[2,2] = unary(%f) {function=exp}\n"
        "%e.quantized: i8[2,2] = quantize(%e, %ys, %yz) \"y\"\n"
        "%y: i8[2,2] = transpose(%e.quantized) {permutation=[1,0]} \"t\"\n");
  CHECK(fused("input %z: i8[1,1,2,2]\nconst %zs: f32[1] = [2]\n" + kReal +
              "%t = dequantize(%z, %zs)\n%c = concat(%r, %t) {axis=1}\n"
              "%y = quantize(%c, %xs, %xz)\n") ==
        "%t.quantized: i8[1,1,2,2] = lookup(%z, %t.quantized.table) \"y\"\n"
        "%y: i8[1,3,2,2] = concat(%x, %t.quantized) {axis=1} \"c\"\n");
}

TEST_CASE("FuseQuantized: a dequantized tensor with several readers is folded into each") {
  const std::string text = FusedQuantized(kQuantizedHead + kReal +
                                          "%e = unary(%r) {function=exp}\n"
                                          "%a = unary(%r) {function=tanh}\n"
                                          "%y = quantize(%a, %ys, %yz)\n"
                                          "output %y\noutput %e\n");
  CHECK(OpsOf(text) ==
        "%r: f32[1,2,2,2] = dequantize(%x, %xs, %xz)\n"
        "%e: f32[1,2,2,2] = unary(%r) {function=exp}\n"
        "%y: i8[1,2,2,2] = lookup(%x, %y.table) \"a\"\n");
}

TEST_CASE("FuseQuantized: leaves what it cannot do, and says why") {
  const auto refused = [&](const std::string& ops, std::string_view op, std::string_view reason) {
    CAPTURE(reason);
    CheckDeclined(kFuseQuantized, kQuantizedHead + kReal + ops + "output %y\n", op, reason);
  };
  refused("input %f: f32[1,2,2,2]\n%s = binary(%r, %f)\n%y = quantize(%s, %ys, %yz)\n", "y",
          "an operand is not dequantized from i8 or u8 with one constant scale");
  refused(
      "%s = binary(%r, %r) {function=pow, activation=relu}\n%e = reduce(%s) {axes_mask=12}\n"
      "%y = quantize(%e, %ys, %yz)\noutput %e\n",
      "y", "what it quantizes is read elsewhere, too");
  refused("%e = softmax(%r) {axis=1, log=1}\n%y = quantize(%e, %ys, %yz)\n", "y",
          "it has no quantized form");
  refused("input %s: f32[1]\n%e = softmax(%r) {axis=1}\n%y = quantize(%e, %s, %yz)\n", "y",
          "its scale and zero point are not one constant each");
  refused("input %w: f32[2,2,1,1]\n%y = conv(%r, %w)\n", "y",
          "an operand is not dequantized with constant parameters");
  refused(
      "const %w: i8[2,2,1,1] = [1, 2, 3, 4]\nconst %ws: f32[2] = [0.125, 2]\n"
      "%wr = dequantize(%w, %ws) {axis=1}\n%y = conv(%r, %wr)\n",
      "y", "the scales of its weights do not run along output channels");
  refused(kWeights + "input %b: f32[2]\n%y = conv(%r, %wr, %b)\n", "y",
          "its bias is not one constant per output channel");
  refused(kWeights + "const %b: f32[2] = [1e30, 0]\n%y = conv(%r, %wr, %b)\n", "y",
          "its sum is out of range for 32 bits");
  refused(
      "%p = pad(%r) {value=0.3, begins=[0, 0, 1, 0], ends=[0, 0, 0, 0]}\n"
      "%y = unary(%p) {function=exp}\n",
      "p", "the quantization before it does not have the pad's value");
}

TEST_CASE("FuseQuantized: float graphs are left alone") {
  const std::string text =
      "input %x: f32[1,1,2,2]\n"
      "const %w: f32[1,1,1,1] = [2]\n"
      "%c: f32[1,1,2,2] = conv(%x, %w) {activation=relu}\n"
      "output %c\n";
  CHECK(FusedQuantized(text) == text);
}

}  // namespace
}  // namespace tenon::converter
