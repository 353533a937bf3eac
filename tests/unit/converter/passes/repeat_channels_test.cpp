#include <string>

#include "converter/passes/passes.hpp"
#include "tests/unit/converter/passes/pass_testing.hpp"

namespace tenon::converter {
namespace {

/// As where a fast kernel runs convolutions of one weight a group, at up to 8 channels.
Status RepeatWithKernel(Graph& graph, PassContext& context) {
  context.has_fast_kernel = [](const Graph& asked, const Op& op) {
    const int32_t outputs = asked.tensor(op.inputs[GemmInput::kWeights]).shape[0];
    return op.attributes.As<QuantizedConvAttributes>().conv.group == outputs && outputs <= 8;
  };
  return RepeatChannels(graph, context);
}

const Pass kRepeatChannels = {"repeat-channels", RepeatWithKernel};

std::string Repeated(const std::string& graph) { return RunOn(kRepeatChannels, graph).text; }

TEST_CASE("RepeatChannels: each channel stands beside itself for each of its outputs") {
  CHECK(Repeated("graph g\n"
                 "input %x: i8[1,2,4,4]\n"
                 "const %w: i8[4,1,1,1] = [1, 2, 3, 4]\n"
                 "const %s: f32[1] = [0.5]\n"
                 "%y = quantized_conv(%x, %w, _, %s) {group=2}\n"
                 "output %y\n") ==
        "input %x: i8[1,2,4,4]\n"
        "const %w: i8[4,1,1,1] = [1, 2, 3, 4]\n"
        "const %s: f32[1] = [0.5]\n"
        "const %y/channels: i32[4] = [0, 0, 1, 1]\n"
        "%y/repeated: i8[1,4,4,4] = gather(%x, %y/channels) {axis=1}\n"
        "%y: i8[1,4,4,4] = quantized_conv(%y/repeated, %w, _, %s) {group=4}\n"
        "output %y\n");
}

TEST_CASE("RepeatChannels: what no fast kernel would run, and what grows too much, stays") {
  const auto stays = [](const std::string& graph) {
    return Repeated(graph).find("gather(") == std::string::npos;
  };
  const std::string scale = "const %s: f32[1] = [0.5]\n";
  CHECK(stays("graph g\ninput %x: i8[1,8,4,4]\nconst %w: i8[16,1,1,1] = splat(1)\n" + scale +
              "%y = quantized_conv(%x, %w, _, %s) {group=8}\noutput %y\n"));
  // Of an input four times as large as the output.
  CHECK(stays("graph g\ninput %x: i8[1,2,4,4]\nconst %w: i8[4,1,1,1] = splat(1)\n" + scale +
              "%y = quantized_conv(%x, %w, _, %s) {group=2, strides=[2,2]}\noutput %y\n"));
  // One output a channel, and groups of two channels.
  CHECK(stays("graph g\ninput %x: i8[1,2,4,4]\nconst %w: i8[2,1,1,1] = splat(1)\n" + scale +
              "%y = quantized_conv(%x, %w, _, %s) {group=2}\noutput %y\n"));
  CHECK(stays("graph g\ninput %x: i8[1,4,4,4]\nconst %w: i8[8,2,1,1] = splat(1)\n" + scale +
              "%y = quantized_conv(%x, %w, _, %s) {group=2}\noutput %y\n"));
}

}  // namespace
}  // namespace tenon::converter
