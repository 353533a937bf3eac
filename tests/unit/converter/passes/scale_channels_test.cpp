#include <string>

#include "converter/passes/passes.hpp"
#include "tests/unit/converter/passes/pass_testing.hpp"

namespace tenon::converter {
namespace {

/// As where a fast kernel runs elementwise ops on images of up to 64 channels.
Status ScaleWithKernel(Graph& graph, PassContext& context) {
  context.has_fast_kernel = [](const Graph& asked, const Op& op) {
    return op.kind == OpKind::kElementwise && asked.tensor(op.inputs[0]).shape[1] <= 64;
  };
  return ScaleChannels(graph, context);
}

const Pass kScaleChannels = {"scale-channels", ScaleWithKernel};

std::string Scaled(const std::string& graph) { return RunOn(kScaleChannels, graph).text; }

bool StaysConv(const std::string& graph) {
  const std::string text = Scaled(graph);
  return text.find("= conv(") != std::string::npos && text.find("= binary(") == std::string::npos;
}

TEST_CASE("ScaleChannels: a depthwise convolution of one tap is a product and a sum") {
  CHECK(Scaled("graph g\n"
               "input %x: f32[1,2,4,4]\n"
               "const %w: f32[2,1,1,1] = [2, 3]\n"
               "const %b: f32[2] = [4, 5]\n"
               "%y = conv(%x, %w, %b) {group=2, activation=relu}\n"
               "output %y\n") ==
        "input %x: f32[1,2,4,4]\n"
        "const %w/channels: f32[1,2,1,1] = [2, 3]\n"
        "const %b/channels: f32[1,2,1,1] = [4, 5]\n"
        "%y/scaled: f32[1,2,4,4] = binary(%x, %w/channels) {function=mul}\n"
        "%y: f32[1,2,4,4] = binary(%y/scaled, %b/channels) {activation=relu}\n"
        "output %y\n");
}

TEST_CASE("ScaleChannels: without a bias the product has the activation") {
  CHECK(Scaled("graph g\n"
               "input %x: f32[1,2,4,4]\n"
               "const %w: f32[2,1,1,1] = [2, 3]\n"
               "%y = conv(%x, %w) {group=2, activation=relu}\n"
               "output %y\n") ==
        "input %x: f32[1,2,4,4]\n"
        "const %w/channels: f32[1,2,1,1] = [2, 3]\n"
        "%y: f32[1,2,4,4] = binary(%x, %w/channels) {function=mul, activation=relu}\n"
        "output %y\n");
}

TEST_CASE("ScaleChannels: other convolutions stay") {
  const std::string x = "graph g\ninput %x: f32[1,2,4,4]\n";
  const std::string one_tap = x + "const %w: f32[2,1,1,1] = [2, 3]\n";
  CHECK(StaysConv(one_tap + "%y = conv(%x, %w) {group=2, strides=[2,1]}\noutput %y\n"));
  CHECK(StaysConv(one_tap + "%y = conv(%x, %w) {group=2, pads=[1,0,0,0]}\noutput %y\n"));
  CHECK(StaysConv(one_tap + "%y = conv(%x, %w, _, %x) {group=2}\noutput %y\n"));
  CHECK(StaysConv(x + "const %w: f32[2,1,3,1] = random(1)\n"
                      "%y = conv(%x, %w) {group=2, pads=[1,0,1,0]}\noutput %y\n"));
  CHECK(StaysConv(x + "const %w: f32[2,2,1,1] = random(1)\n%y = conv(%x, %w)\noutput %y\n"));
  CHECK(StaysConv(x + "const %w: f32[4,1,1,1] = random(1)\n"
                      "%y = conv(%x, %w) {group=2}\noutput %y\n"));
  CHECK(
      StaysConv("graph g\ninput %x: f32[1,2,4,4]\ninput %w: f32[2,1,1,1]\n"
                "%y = conv(%x, %w) {group=2}\noutput %y\n"));
}

TEST_CASE("ScaleChannels: where no fast kernel runs elementwise ops the convolution stays") {
  CHECK(
      StaysConv("graph g\n"
                "input %x: f32[1,80,4,4]\n"
                "const %w: f32[80,1,1,1] = random(1)\n"
                "%y = conv(%x, %w) {group=80}\n"
                "output %y\n"));
}

}  // namespace
}  // namespace tenon::converter
