#include <doctest/doctest.h>

#include <string>

#include "converter/map/kernel_choice.hpp"
#include "tests/support/parsed_graph.hpp"

namespace tenon::converter {
namespace {

/// A convolution in f32 and the same of other operands, of which one is to take the other's place.
constexpr const char* kForms = R"(input %x: f32[1,32,8,8]
input %u: u8[1,32,8,8]
const %w: f32[32,32,3,3] = random(1)
const %h: f16[32,32,3,3] = random(1)
const %q: i8[32,32,3,3] = random(1)
const %s: f32[32] = splat(0.5)
const %m: f32[32] = splat(1)
%plain = conv(%x, %w)
%half = conv(%x, %h)
%int8 = conv(%x, %q, _, _, %s)
%bytes = conv(%u, %w, _, _, _, %m)
output %plain
output %half
output %int8
output %bytes
)";

std::string WhyWorse(const std::string& other, const KernelChoiceOptions& options) {
  const Graph graph = Parsed(kForms);
  const auto op = [&](const std::string& name) -> const Op& {
    return graph.op(graph.tensor(graph.FindTensor(name)).producer);
  };
  return WhyWorseKernel(graph, op("plain"), op(other), options);
}

TEST_CASE("Worse kernels: weights in fewer bits run by the same kernels") {
  CHECK(WhyWorse("half", {}).empty());
  CHECK(WhyWorse("int8", {}).empty());
}

TEST_CASE(
    "Worse kernels: what only the portable kernel takes is worse than what a faster one does") {
  CHECK(WhyWorse("bytes", {}) ==
        "it would run by cpu.conv.portable instead of cpu.conv.vector_winograd");
  KernelChoiceOptions portable;
  portable.portable_only = true;
  CHECK(WhyWorse("bytes", portable).empty());
}

TEST_CASE("The kernel for an op is that of the board's instruction set, if it takes the op") {
  const Graph graph = Parsed(R"(input %x: i8[1,4,3,3]
const %w: i8[4,4,1,1] = random(1)
const %m: f32[1] = [0.5]
%y = quantized_conv(%x, %w, _, %m)
output %y
)");
  const Op& op = graph.op(graph.OpOrder().front());
  KernelChoiceOptions options;
  options.kernel_set = "helium";
  options.portable_only = true;
  const KernelCaps* own = KernelFor(graph, op, options);
  REQUIRE(own != nullptr);
  CHECK(std::string(own->id) == "cpu.quantized_conv.helium");
  CHECK(own->wants_folded_bias);
  options.kernel_set = "";
  const KernelCaps* portable = KernelFor(graph, op, options);
  REQUIRE(portable != nullptr);
  CHECK(std::string(portable->id) == "cpu.quantized_conv.portable");
  CHECK_FALSE(portable->wants_folded_bias);
}

}  // namespace
}  // namespace tenon::converter
