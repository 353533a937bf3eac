#include <cstring>

#include "converter/layout/layouts.hpp"
#include "converter/map/kernel_choice.hpp"
#include "tests/unit/converter/passes/pass_testing.hpp"

namespace tenon::converter {
namespace {

/// The graph with every op on the kernel `kernel`.
Graph LaidOut(std::string_view text, const std::string& kernel) {
  Graph graph = Parsed(text);
  for (const OpId id : graph.OpOrder()) graph.MutableOp(id).kernel = kernel;
  PassContext context;
  LaidOutWeights weights;
  REQUIRE(LayOutWeights(graph, weights, context).ok());
  const Status status = Verify(graph);
  if (!status.ok()) FAIL(status.error().message);
  return graph;
}

std::vector<float> Values(const Tensor& tensor) {
  std::vector<float> values(tensor.constant->size() / sizeof(float));
  std::memcpy(values.data(), tensor.constant->data(), tensor.constant->size());
  return values;
}

TEST_CASE("LayOutWeights: output channels become innermost, then input channels, then taps") {
  const Graph graph = LaidOut(R"(input %x: f32[1,2,3,3]
const %w: f32[3,2,1,2] = [0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23]
%a = conv(%x, %w)
output %a
)",
                              "cpu.conv.vector");
  const Tensor& w = graph.tensor(graph.op(graph.OpOrder()[0]).inputs[1]);
  CHECK(w.layout == Layout::kOutputsLast);
  CHECK(DenseStrides(w.shape, w.layout) == std::vector<int32_t>{1, 3, 12, 6});
  CHECK(Values(w) == std::vector<float>{0, 10, 20, 2, 12, 22, 1, 11, 21, 3, 13, 23});
  CHECK(graph.FindTensor("w") == kNone);
}

TEST_CASE("LaidOutWeights: elements of any size are where the layout has them, however many") {
  for (const DType dtype : {DType::kI8, DType::kF16, DType::kF32, DType::kI64}) {
    for (const int32_t outputs : {1, 7, 64, 131}) {
      Tensor weights;
      weights.dtype = dtype;
      weights.shape = Shape({outputs, 5, 2, 3});
      const auto size = static_cast<size_t>(DTypeBytes(dtype));
      std::vector<std::byte> bytes(static_cast<size_t>(weights.shape.Elements()) * size);
      for (size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = static_cast<std::byte>((i / size * 167 + i % size * 13) % 251);
      }
      weights.constant = std::make_shared<const std::vector<std::byte>>(bytes);
      for (const Layout layout : {Layout::kOutputsLast, Layout::kChannelsLast}) {
        const Bytes laid_out = LaidOutWeights().Get(weights, layout);
        const std::vector<int32_t> strides = DenseStrides(weights.shape, layout);
        size_t wrong = 0;
        size_t from = 0;
        for (int32_t m = 0; m < outputs; ++m) {
          for (int32_t i = 0; i < 30; ++i, from += size) {
            const int32_t to =
                m * strides[0] + i / 6 * strides[1] + i / 3 % 2 * strides[2] + i % 3 * strides[3];
            const auto* place = laid_out->data() + static_cast<size_t>(to) * size;
            wrong += std::memcmp(place, bytes.data() + from, size) != 0 ? 1U : 0U;
          }
        }
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("LaidOutWeights: a scalar is what it was") {
  Tensor scalar;
  scalar.dtype = DType::kF32;
  scalar.constant = std::make_shared<const std::vector<std::byte>>(4, std::byte{7});
  CHECK(*LaidOutWeights().Get(scalar, Layout::kOutputsLast) == *scalar.constant);
}

TEST_CASE("LayOutWeights: a transposed matrix is turned, a plain one is right as it is") {
  const char* text = R"(input %x: f32[1,3]
const %b: f32[2,3] = [1, 2, 3, 4, 5, 6]
%a = matmul(%x, %b) {transpose_b=1}
output %a
)";
  const Graph turned = LaidOut(text, "cpu.matmul.vector");
  const Tensor& b = turned.tensor(turned.op(turned.OpOrder()[0]).inputs[1]);
  CHECK(Values(b) == std::vector<float>{1, 4, 2, 5, 3, 6});
  const Graph plain = LaidOut(R"(input %x: f32[1,3]
const %b: f32[3,2] = [1, 2, 3, 4, 5, 6]
%a = matmul(%x, %b)
output %a
)",
                              "cpu.matmul.vector");
  CHECK(plain.tensor(plain.FindTensor("b")).layout == Layout::kRowMajor);
}

TEST_CASE("LayOutWeights: what one output sums becomes innermost, a channel's taps together") {
  const Graph graph = LaidOut(R"(input %x: i8[1,2,3,3]
const %w: i8[2,2,1,3] = [0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15]
%a = quantized_conv(%x, %w) {to=i32}
output %a
)",
                              "cpu.quantized_conv.helium");
  const Tensor& w = graph.tensor(graph.op(graph.OpOrder()[0]).inputs[1]);
  CHECK(w.layout == Layout::kChannelsLast);
  CHECK(DenseStrides(w.shape, w.layout) == std::vector<int32_t>{6, 1, 6, 2});
  const std::vector<int> expected = {0, 3, 1, 4, 2, 5, 10, 13, 11, 14, 12, 15};
  REQUIRE(w.constant->size() == expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    CHECK(static_cast<int>((*w.constant)[i]) == expected[i]);
  }
}

TEST_CASE("LayOutWeights: a plain matrix is turned where what is summed is to be innermost") {
  const Graph turned = LaidOut(R"(input %x: i8[1,3]
const %b: i8[3,2] = [1, 2, 3, 4, 5, 6]
%a = quantized_matmul(%x, %b) {to=i32}
output %a
)",
                               "cpu.quantized_matmul.helium");
  const Tensor& b = turned.tensor(turned.op(turned.OpOrder()[0]).inputs[1]);
  CHECK(b.layout == Layout::kOutputsLast);
  const std::vector<int> expected = {1, 3, 5, 2, 4, 6};
  for (size_t i = 0; i < expected.size(); ++i) {
    CHECK(static_cast<int>((*b.constant)[i]) == expected[i]);
  }
  const Graph plain = LaidOut(R"(input %x: i8[1,3]
const %b: i8[2,3] = [1, 2, 3, 4, 5, 6]
%a = quantized_matmul(%x, %b) {to=i32, transpose_b=1}
output %a
)",
                              "cpu.quantized_matmul.helium");
  CHECK(plain.tensor(plain.FindTensor("b")).layout == Layout::kRowMajor);
}

TEST_CASE("LayOutWeights: weights that kernels want in two orders are there twice") {
  Graph graph = Parsed(R"(input %x: i8[1,1,3,3]
const %w: i8[1,1,2,2] = [1, 2, 3, 4]
%a = quantized_conv(%x, %w) {to=i32}
%b = quantized_conv(%x, %w) {to=i32}
output %a
output %b
)");
  const std::vector<OpId> order = graph.OpOrder();
  graph.MutableOp(order[0]).kernel = "cpu.quantized_conv.helium";
  graph.MutableOp(order[1]).kernel = "cpu.quantized_conv.helium_depthwise";
  PassContext context;
  LaidOutWeights weights;
  REQUIRE(LayOutWeights(graph, weights, context).ok());
  REQUIRE(Verify(graph).ok());
  CHECK(graph.tensor(graph.op(order[0]).inputs[1]).layout == Layout::kChannelsLast);
  CHECK(graph.tensor(graph.op(order[1]).inputs[1]).layout == Layout::kOutputsLast);
  CHECK(graph.FindTensor("w") == kNone);
}

TEST_CASE("LayOutWeights: ops with the same weights go on sharing them") {
  const Graph graph = LaidOut(R"(input %x: f32[1,2,3,3]
const %w: f32[2,2,1,1] = random(1)
%a = conv(%x, %w)
%b = conv(%a, %w)
output %b
)",
                              "cpu.conv.vector");
  const std::vector<OpId> order = graph.OpOrder();
  CHECK(graph.op(order[0]).inputs[1] == graph.op(order[1]).inputs[1]);
}

TEST_CASE("LayOutWeights: kernels that take row-major weights keep them") {
  const Graph graph = LaidOut(R"(input %x: f32[1,2,3,3]
const %w: f32[2,2,1,1] = random(1)
%a = conv(%x, %w)
output %a
)",
                              "cpu.conv.portable");
  CHECK(graph.tensor(graph.FindTensor("w")).layout == Layout::kRowMajor);
}

}  // namespace
}  // namespace tenon::converter
