#include <algorithm>
#include <array>
#include <cstring>

#include "converter/layout/assign_locations.hpp"
#include "converter/layout/layouts.hpp"
#include "converter/map/kernel_choice.hpp"
#include "tests/unit/converter/passes/pass_testing.hpp"

namespace tenon::converter {
namespace {

/// The graph with layouts, on the portable kernels where the text names no others.
Graph LaidOut(std::string_view text) {
  Graph graph = Parsed(text);
  for (const OpId id : graph.OpOrder()) {
    if (graph.op(id).kernel.empty()) UsePortableKernel(graph.MutableOp(id));
  }
  PassContext context;
  LaidOutWeights weights;
  REQUIRE(AssignLayouts(graph, weights, context).ok());
  const Status status = Verify(graph);
  if (!status.ok()) FAIL(status.error().message);
  return graph;
}

Layout LayoutOf(const Graph& graph, std::string_view name) {
  const TensorId id = graph.FindTensor(name);
  REQUIRE(id != kNone);
  return graph.tensor(id).layout;
}

int Copies(const Graph& graph) {
  int copies = 0;
  for (const OpId id : graph.OpOrder()) copies += graph.op(id).kind == OpKind::kCopy ? 1 : 0;
  return copies;
}

TEST_CASE("AssignLayouts: images behind a convolution are channels-last, ports are row-major") {
  const Graph graph = LaidOut(R"(input %x: f32[1,2,3,3]
const %w: f32[2,2,1,1] = random(1)
%a = conv(%x, %w)
%b = unary(%a) {function=relu}
output %b
)");
  CHECK(LayoutOf(graph, "x") == Layout::kRowMajor);
  CHECK(LayoutOf(graph, "a") == Layout::kChannelsLast);
  CHECK(LayoutOf(graph, "b") == Layout::kChannelsLast);
  CHECK(LayoutOf(graph, "b.row_major") == Layout::kRowMajor);
  CHECK(graph.outputs()[0].tensor == graph.FindTensor("b.row_major"));
  CHECK(graph.outputs()[0].name == "b");
}

TEST_CASE("AssignLayouts: sampled images keep their layout, and points are no image") {
  const Graph graph = LaidOut(R"(input %x: f32[1,2,3,3]
input %f: f32[1,2,3,3]
const %w: f32[2,2,1,1] = random(1)
%a = conv(%x, %w)
%g = transpose(%a) {permutation=[0,2,3,1]}
%b = grid_sample(%a, %g)
%c = grid_sample(%f, %g)
output %b
output %c
)");
  CHECK(LayoutOf(graph, "a") == Layout::kChannelsLast);
  CHECK(LayoutOf(graph, "g") == Layout::kRowMajor);
  CHECK(LayoutOf(graph, "b") == Layout::kChannelsLast);
  CHECK(LayoutOf(graph, "c") == Layout::kRowMajor);
  CHECK(Copies(graph) == 1);  // of the result b
}

TEST_CASE("AssignLayouts: quantized images are channels-last as float ones are, weights are not") {
  const Graph graph = LaidOut(R"(input %x: i8[1,2,3,3]
const %w: i8[2,2,1,1] = random(1)
const %m: f32[1] = [0.5]
%a = quantized_conv(%x, %w, _, %m)
%b = quantized_average_pool(%a) {kernel=[2,2]}
%c = quantized_binary(%a, %a)
%d = quantized_matmul(%c, %c, _, %m)
output %b
output %d
)");
  for (const char* name : {"a", "b", "c"}) CHECK(LayoutOf(graph, name) == Layout::kChannelsLast);
  for (const char* name : {"x", "w", "d"}) CHECK(LayoutOf(graph, name) == Layout::kRowMajor);
}

TEST_CASE("AssignLayouts: tensors that no kernel wants otherwise stay row-major") {
  const Graph graph = LaidOut(R"(input %x: f32[1,2,3,3]
%a = unary(%x) {function=relu}
%b = binary(%a, %x)
output %b
)");
  CHECK(Copies(graph) == 0);
  CHECK(LayoutOf(graph, "b") == Layout::kRowMajor);
}

TEST_CASE("AssignLayouts: a tensor is converted once, however many want it so") {
  const Graph graph = LaidOut(R"(input %x: f32[1,2,3,3]
const %w: f32[2,2,3,3] = random(1)
%a = conv(%x, %w) "a" @cpu/cpu.conv.onednn
%b = conv(%x, %w) "b" @cpu/cpu.conv.onednn
%c = binary(%a, %b)
output %c
)");
  CHECK(Copies(graph) == 1);  // of x: a 1x1 image is the same in both layouts
  CHECK(LayoutOf(graph, "x.channels_last") == Layout::kChannelsLast);
}

TEST_CASE("AssignLayouts: convolutions one behind the other need no conversion between them") {
  const Graph graph = LaidOut(R"(input %x: f32[1,2,5,5]
const %w: f32[2,2,3,3] = random(1)
%a = conv(%x, %w) "a" @cpu/cpu.conv.onednn
%b = unary(%a) {function=relu}
%c = conv(%b, %w) "c" @cpu/cpu.conv.onednn
%d = reshape(%c) {dims=[1,2]}
output %d
)");
  CHECK(Copies(graph) == 2);  // in front of the first, and for the reshape
}

TEST_CASE("AssignLayouts: an output of one pixel or one channel needs no conversion") {
  const Graph graph = LaidOut(R"(input %x: f32[1,2,3,3]
const %w: f32[2,2,3,3] = random(1)
const %v: f32[1,2,1,1] = random(2)
%a = conv(%x, %w)
%b = conv(%x, %v)
output %a
output %b
)");
  CHECK(Copies(graph) == 0);
  CHECK(LayoutOf(graph, "a") == Layout::kRowMajor);
  CHECK(LayoutsCoincide(Shape({2, 5, 1, 1})));
  CHECK(LayoutsCoincide(Shape({2, 1, 7, 7})));
  CHECK_FALSE(LayoutsCoincide(Shape({1, 2, 1, 7})));
}

TEST_CASE("AssignLayouts: parts of an output become row-major as soon as each is made") {
  const Graph graph = LaidOut(R"(input %x: f32[1,2,3,3]
const %w: f32[2,2,1,1] = random(1)
%a = conv(%x, %w)
%b = conv(%x, %w)
%c = concat(%a, %b) {axis=2}
output %c
)");
  CHECK(LayoutOf(graph, "c") == Layout::kRowMajor);
  CHECK(graph.outputs()[0].tensor == graph.FindTensor("c"));
  std::vector<std::string> order;
  for (const OpId id : graph.OpOrder()) {
    order.push_back(graph.tensor(graph.op(id).outputs[0]).name);
  }
  const std::vector<std::string> expected = {"a", "a.row_major", "b", "b.row_major", "c"};
  CHECK(order == expected);
}

TEST_CASE("AssignLayouts: operands of an elementwise op come to one layout") {
  const Graph graph = LaidOut(R"(input %x: f32[1,2,3,3]
const %w: f32[2,2,1,1] = random(1)
const %k: f32[1,2,3,3] = random(2)
%a = conv(%x, %w)
%b = binary(%a, %x)
%c = binary(%b, %k) {function=mul}
output %c
)");
  CHECK(LayoutOf(graph, "b") == Layout::kChannelsLast);
  CHECK(graph.FindTensor("x.channels_last") != kNone);
}

TEST_CASE("AssignLayouts: a constant as large as the output is stored in its layout") {
  const Graph graph = LaidOut(R"(input %x: f32[1,2,1,3]
const %w: f32[2,2,1,1] = random(1)
const %k: f32[1,2,1,3] = [0, 1, 2, 10, 11, 12]
const %row: f32[1,2,1,1] = random(3)
%a = conv(%x, %w)
%b = binary(%a, %k)
%c = binary(%b, %k) {function=mul}
%d = binary(%c, %row)
output %d
)");
  CHECK(Copies(graph) == 1);  // of the output
  CHECK(LayoutOf(graph, "k.channels_last") == Layout::kChannelsLast);
  CHECK(graph.FindTensor("k") == kNone);
  CHECK(LayoutOf(graph, "row") == Layout::kRowMajor);  // a broadcast one is read where it lies
  const Tensor& laid_out = graph.tensor(graph.FindTensor("k.channels_last"));
  std::array<float, 6> values = {};
  REQUIRE(laid_out.constant->size() == sizeof(values));
  std::memcpy(values.data(), laid_out.constant->data(), sizeof(values));
  CHECK(values == std::array<float, 6>{0, 10, 1, 11, 2, 12});
}

TEST_CASE("AssignLayouts: a transpose from channels-last order is a view, not work") {
  // As models from TensorFlow have it: the input is N, H, W, C.
  Graph graph = LaidOut(R"(input %x: f32[1,3,3,2]
const %w: f32[2,2,3,3] = random(1)
%t = transpose(%x) {permutation=[0,3,1,2]}
%a = conv(%t, %w) {pads=[1,1,1,1]} "a" @cpu/cpu.conv.onednn
%u = transpose(%a) {permutation=[0,2,3,1]}
%y = unary(%u) {function=relu}
output %y
)");
  CHECK(LayoutOf(graph, "t") == Layout::kChannelsLast);
  CHECK(Copies(graph) == 0);
  PassContext context;
  const auto locations = AssignLocations(graph, context.report);
  REQUIRE(locations.ok());
  for (const char* name : {"t", "u"}) {
    const OpId op = graph.tensor(graph.FindTensor(name)).producer;
    CHECK(locations->elided[static_cast<size_t>(op)]);
  }
}

TEST_CASE("AssignLayouts: a matrix product of images is row-major") {
  const Graph graph = LaidOut(R"(input %x: f32[1,2,3,3]
const %w: f32[2,2,1,1] = random(1)
%a = conv(%x, %w)
%b = matmul(%a, %a)
output %b
)");
  CHECK(LayoutOf(graph, "b") == Layout::kRowMajor);
}

}  // namespace
}  // namespace tenon::converter
