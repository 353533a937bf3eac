#include <string>

#include "converter/ir/elements.hpp"
#include "converter/passes/passes.hpp"
#include "tests/unit/converter/passes/same_numbers.hpp"

namespace tenon::converter {
namespace {

/// Where no kernel but those of products is fast.
const Pass kPatchesToProducts = {"patches-to-products", [](Graph& graph, PassContext& context) {
                                   context.has_fast_kernel = [](const Graph&, const Op& op) {
                                     return op.kind == OpKind::kMatMul;
                                   };
                                   return PatchesToProducts(graph, context);
                                 }};

const Pass kThenSimplify = {"patches-to-products", [](Graph& graph, PassContext& context) {
                              TENON_RETURN_IF_ERROR(kPatchesToProducts.run(graph, context));
                              return Simplify(graph, context);
                            }};

std::string Net(const std::string& attributes, const std::string& operands = "%x, %w, %b") {
  return "input %x: f32[2,3,8,12]\ninput %r: f32[2,4,2,2]\n"
         "const %w: f32[4,3,4,6] = random(1)\nconst %b: f32[4] = random(2)\n"
         "%y = conv(" +
         operands + ") {" + attributes + "}\noutput %y\n";
}
const std::string kStrides = "strides=[4,6]";

/// What ends a vision transformer's first layer: rows of channels, one for each patch.
const std::string kToTokens =
    "%f = reshape(%c) {dims=[2,4,4]}\n%y = transpose(%f) {permutation=[0,2,1]}\noutput %y\n";

TEST_CASE("PatchesToProducts: windows side by side are rows of a product") {
  const PassResult result = RunOn(kPatchesToProducts, Net(kStrides + ", activation=relu"));
  CHECK(result.report.changed == 1);
  CheckHas(result.text,
           {"%y.cut: f32[2,3,2,4,2,6] = reshape(%x) {dims=[2,3,2,4,2,6]}\n"
            "%y.moved: f32[2,2,2,3,4,6] = transpose(%y.cut) {permutation=[0,2,4,1,3,5]}\n"
            "%y.patches: f32[2,2,2,72] = reshape(%y.moved) {dims=[2,2,2,72]}\n"
            "%y.product: f32[2,2,2,4] = matmul(%y.patches, %w.patches, %b) {transpose_b=1, "
            "activation=relu}\n"
            "%y: f32[2,4,2,2] = transpose(%y.product) {permutation=[0,3,1,2]} \"y.image\"\n",
            "const %w.patches: f32[4,72]"});
  CHECK(!Contains(result.text, "f32[4,3,4,6]"));
}

TEST_CASE("PatchesToProducts: no transpose is left between the product and tokens") {
  const std::string text = RunOn(kThenSimplify,
                                 "input %x: f32[2,3,8,12]\nconst %w: f32[4,3,4,6] = random(1)\n"
                                 "%c = conv(%x, %w) {strides=[4,6]}\n" +
                                     kToTokens)
                               .text;
  CheckHas(text, {"%c.product: f32[2,2,2,4] = matmul(%c.patches, %w.patches) {transpose_b=1}\n",
                  "%y: f32[2,4,4] = reshape(%c.product) {dims=[2,4,4]}"});
}

TEST_CASE("PatchesToProducts: a patch of a turned image lies as the image did") {
  const std::string text =
      RunOn(kPatchesToProducts,
            "input %x: f32[1,2,4,2]\nconst %w: f32[1,2,2,2] = [1, 2, 3, 4, 5, 6, 7, 8]\n"
            "%t = transpose(%x) {permutation=[0,3,1,2]}\n"
            "%y = conv(%t, %w) {strides=[2,2]}\noutput %y\n")
          .text;
  CheckHas(text, {"const %w.patches: f32[1,8] = [1, 5, 2, 6, 3, 7, 4, 8]\n",
                  "%y.cut: f32[1,1,2,2,2,2] = reshape(%x) {dims=[1,1,2,2,2,2]}\n"
                  "%y.moved: f32[1,1,2,2,2,2] = transpose(%y.cut) {permutation=[0,1,3,2,4,5]}\n"});
}

TEST_CASE("PatchesToProducts: bytes are moved as bytes, and their mean is in the bias") {
  const std::string text =
      RunOn(kPatchesToProducts,
            "input %x: u8[1,2,2,4]\nconst %w: f32[1,2,2,2] = [1, 2, 3, 4, 5, 6, 7, 8]\n"
            "const %b: f32[1] = [1000]\nconst %m: f32[2] = [1, 10]\n"
            "%y = conv(%x, %w, %b, _, _, %m) {strides=[2,2]}\noutput %y\n")
          .text;
  CheckHas(text, {"%y.moved: u8[1,1,2,2,2,2] = transpose(",
                  "%y.floats: f32[1,1,2,8] = cast(%y.patches)\n", "const %y.bias: f32[1] = [730]\n",
                  "matmul(%y.floats, %w.patches, %y.bias) {transpose_b=1}\n"});
}

TEST_CASE("PatchesToProducts: what has no patches, or needs what products lack, is left") {
  for (const std::string& text :
       {Net("strides=[2,6]"), Net("strides=[4,5]"), Net("strides=[4,7]"),
        Net(kStrides + ", pads=[4,0,0,0]"), Net("strides=[4,6], dilations=[2,1]"),
        Net(kStrides, "%x, %w, %b, %r"),
        std::string("input %x: f32[1,4,4,4]\nconst %w: f32[4,2,2,2] = random(1)\n"
                    "%y = conv(%x, %w) {group=2, strides=[2,2]}\noutput %y\n"),
        std::string("input %x: f32[1,4,4,4]\nconst %w: f32[4,4,1,1] = random(1)\n"
                    "%y = conv(%x, %w)\noutput %y\n"),
        std::string("input %x: f32[1,4,4,4]\ninput %w: f32[4,4,2,2]\n"
                    "%y = conv(%x, %w) {strides=[2,2]}\noutput %y\n"),
        std::string("input %x: f32[1,4,5,4]\nconst %w: f32[4,4,2,2] = random(1)\n"
                    "%y = conv(%x, %w) {strides=[2,2]}\noutput %y\n")}) {
    CAPTURE(text);
    CHECK(RunOn(kPatchesToProducts, text).report.changed == 0);
  }
}

TEST_CASE("PatchesToProducts: a convolution with a fast kernel stays") {
  const PassResult result =
      RunOn(OnFastKernels("patches-to-products", PatchesToProducts), Net(kStrides));
  CHECK(result.report.changed == 0);
  CHECK(Contains(result.text, "conv("));
}

TEST_CASE("PatchesToProducts: without a fast kernel for products nothing changes") {
  const Pass pass = {"patches-to-products", [](Graph& graph, PassContext& context) {
                       context.has_fast_kernel = [](const Graph&, const Op&) { return false; };
                       return PatchesToProducts(graph, context);
                     }};
  CheckDeclined(pass, Net(kStrides), "y", "no fast kernel computes the product of its patches");
}

TEST_CASE("PatchesToProducts: the numbers are those of the convolution") {
  const std::string conv = " {strides=[4,3], activation=relu}\noutput %y\n";
  const std::string constants =
      "const %w: f32[5,3,4,3] = random(1)\nconst %b: f32[5] = random(2)\n"
      "const %m: f32[3] = [100, 3, 200]\n";
  struct Case {
    DType dtype;
    std::string text;
  };
  for (const auto& [dtype, text] :
       {Case{DType::kF32, "input %x: f32[2,3,8,9]\n" + constants + "%y = conv(%x, %w, %b)" + conv},
        Case{DType::kF32, "input %x: f32[2,8,9,3]\n" + constants +
                              "%t = transpose(%x) {permutation=[0,3,1,2]}\n"
                              "%y = conv(%t, %w, %b)" +
                              conv},
        Case{DType::kU8, "input %x: u8[2,8,9,3]\n" + constants +
                             "%t = transpose(%x) {permutation=[0,3,1,2]}\n"
                             "%y = conv(%t, %w, %b, _, _, %m)" +
                             conv}}) {
    CheckSameNumbers(kThenSimplify, text, {RandomElements(dtype, int64_t{2} * 3 * 8 * 9, 7)}, 1e-5F,
                     1e-4F);
  }
}

}  // namespace
}  // namespace tenon::converter
