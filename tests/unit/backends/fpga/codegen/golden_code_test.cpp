// The descriptors of a small segment, word by word in words: what changes here changes plans.
#include <doctest/doctest.h>

#include <cstring>
#include <string>

#include "backends/fpga/isa/descriptor.hpp"
#include "converter/ir/text.hpp"
#include "tests/unit/backends/fpga/codegen/run_code.hpp"
#include "tests/unit/backends/fpga/codegen/segment_values.hpp"

using namespace tenon;  // NOLINT

namespace {

/// An image of 3 channels, a depthwise layer with a sum, a pool, and a product.
constexpr const char* kSegment = R"(graph g
input %x: u8[1,3,8,8]
const %w: i8[40,3,3,3] = random(1)
const %d: i8[40,1,3,3] = random(2)
const %f: i8[40,10] = random(3)
const %m: f32[1] = [0.01]
const %z: u8[1] = [128]
%a = quantized_conv(%x, %w, _, %m, _, %z) {strides=[2,2], pads=[1,1,1,1], to=i8, min=0}
%b = quantized_conv(%a, %d, _, %m) {group=40, pads=[1,1,1,1], to=i8}
%s = quantized_binary(%b, %a) {x_scale=0.5, y_scale=0.25, output_scale=0.5, to=i8}
%p = max_pool(%s) {kernel=[2,2], strides=[2,2]}
%g = quantized_reduce(%p) {axes_mask=12, keep_dims=0, scale=0.25, to=i8}
%y = quantized_matmul(%g, %f, _, %m) {to=i8}
output %y
)";

std::string Text(const fpga::isa::Descriptor& d) {
  const char* kOps[] = {"transfer", "conv", "depthwise", "max_pool"};
  std::string text = fmt::format("{} [{}]{}x{}x{} -> [{}]{}x{}x{}", kOps[static_cast<size_t>(d.op)],
                                 d.input, d.in_groups, d.in_height, d.in_width, d.output,
                                 d.out_groups, d.out_height, d.out_width);
  const fpga::isa::Window& w = d.window;
  text += fmt::format(" window {}x{}/{},{} pads {},{} byte {}", w.kernel_height, w.kernel_width,
                      w.stride_height, w.stride_width, w.pad_top, w.pad_left, d.padding);
  text += fmt::format(" blocks {}x{} lines {} at {} rounding {} {}..{}", d.blocks, d.block_pixels,
                      d.group_lines, d.weights.offset / 16, static_cast<int>(d.rounding),
                      d.bounds.least, d.bounds.most);
  if (d.folded) text += " folded";
  if (d.windowed) text += " windowed";
  if (d.has_residual) text += fmt::format(" plus [{}] >> {}", d.residual, d.residual_shift + 1);
  if (d.load.used)
    text += fmt::format(" load {}:{}", d.load.address.base_register, d.load.channels);
  if (d.load.flip) text += " flip";
  if (d.store.used) {
    text += fmt::format(" store {}:{}", d.store.address.base_register, d.store.channels);
  }
  return text + (d.last ? " last\n" : "\n");
}

}  // namespace

TEST_CASE("GenerateCode: the descriptors of a small segment are those that they were") {
  auto graph = converter::ParseGraph(kSegment);
  if (!graph.ok()) FAIL(graph.error().message);
  test::RunSegments run;
  CHECK(test::CompareCode(std::move(*graph), 1, test::FullTarget(), run) == "");
  const test::MappedGraph mapped =
      test::MapToAccelerator(std::move(*converter::ParseGraph(kSegment)));
  REQUIRE(mapped.segments.size() == 1);
  const auto traced = converter::SourceOf(mapped.graph, mapped.locations, mapped.segments[0]);
  const auto code = fpga::GenerateCode(traced.source, test::FullTarget());
  REQUIRE(code.ok());
  std::string text;
  for (size_t at = 0; at < code->descriptors.size(); at += fpga::isa::kDescriptorBytes) {
    uint32_t words[fpga::isa::kDescriptorWords];
    std::memcpy(words, code->descriptors.data() + at, sizeof words);
    fpga::isa::Descriptor descriptor;
    REQUIRE(fpga::isa::Decode(words, descriptor).ok());
    text += Text(descriptor);
  }
  CHECK(
      text ==
      R"(conv [16384]1x8x8 -> [0]2x4x4 window 3x3/2,2 pads 1,1 byte 0 blocks 1x16 lines 53 at 0 rounding 0 0..127 folded load 1:3 flip
depthwise [0]2x4x4 -> [16384]2x4x4 window 3x3/1,1 pads 1,1 byte 0 blocks 1x16 lines 21 at 106 rounding 0 -128..127 windowed plus [0] >> 20
max_pool [16384]2x4x4 -> [0]2x2x2 window 2x2/2,2 pads 0,0 byte -128 blocks 1x4 lines 69 at 148 rounding 0 -128..127
depthwise [0]2x2x2 -> [16384]2x1x1 window 2x2/1,1 pads 0,0 byte 0 blocks 1x2 lines 21 at 286 rounding 0 -128..127 windowed
conv [16384]2x1x1 -> [0]1x1x1 window 1x1/1,1 pads 0,0 byte 0 blocks 1x2 lines 37 at 328 rounding 0 -128..127 store 2:10 last
)");
}
