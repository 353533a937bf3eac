#include "converter/map/kernel_choice.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "converter/board/board.hpp"
#include "tests/support/parsed_graph.hpp"

namespace tenon::converter {
namespace {

/// The kernel that a board's first op gets.
std::string KernelOn(const char* board_name, std::string_view text) {
  Graph graph = Parsed(text);
  const auto board = LoadBoard(board_name);
  REQUIRE(board.ok());
  KernelChoiceOptions options;
  options.board = &*board;
  REQUIRE(ChooseKernels(graph, options).ok());
  return graph.op(graph.OpOrder()[0]).kernel;
}

constexpr const char* kConv = R"(graph g
input %x: f32[1,2,3,3]
const %w: f32[2,2,3,3] = random(1)
%y = conv(%x, %w)
%z = unary(%y) {function=relu}
output %z
)";

TEST_CASE("ChooseKernels: Winograd's way for bytes is for processors without products of bytes") {
  const char* const text = R"(graph g
input %x: i8[1,64,28,28]
const %w: i8[64,64,3,3] = random(1)
const %m: f32[1] = [0.01]
%y = quantized_conv(%x, %w, _, %m) {pads=[1,1,1,1]}
output %y
)";
  CHECK(KernelOn("x86-64-avx2", text) == "cpu.quantized_conv.vector_winograd");
  CHECK(KernelOn("x86-64-avx512", text) == "cpu.quantized_conv.vector");
}

TEST_CASE("ChooseKernels: with least_workspace an op gets no more than its kernel can do with") {
  Graph graph = Parsed(R"(graph g
input %x: i8[1,16,32,32]
const %w: i8[16,16,3,3] = random(1)
const %m: f32[1] = [0.01]
%y = quantized_conv(%x, %w, _, %m) {pads=[1,1,1,1]}
output %y
)");
  const auto board = LoadBoard("cortex-m7");
  REQUIRE(board.ok());
  KernelChoiceOptions options;
  options.board = &*board;
  options.kernel_set = "dsp";
  const auto workspace = [&](bool least) {
    options.least_workspace = least;
    REQUIRE(ChooseKernels(graph, options).ok());
    const Op& op = graph.op(graph.OpOrder()[0]);
    CHECK(op.kernel == "cpu.quantized_conv.dsp_winograd");
    return op.workspace_bytes;
  };
  const int64_t wanted = workspace(false);
  const int64_t least = workspace(true);
  const OpCallView view(graph, graph.op(graph.OpOrder()[0]));
  const KernelCaps& caps = CapsOf(graph.op(graph.OpOrder()[0]));
  CHECK(wanted == static_cast<int64_t>(caps.workspace_bytes(view.call(), 1)));
  CHECK(least == static_cast<int64_t>(caps.least_workspace_bytes(view.call())));
  CHECK(least < wanted);
}

TEST_CASE("ChooseKernels: a graphics card convolves by tiles where other devices do as Winograd") {
  const char* const text = R"(graph g
input %x: f32[1,32,56,56]
const %w: f32[32,32,3,3] = random(1)
%y = conv(%x, %w) {pads=[1,1,1,1]}
output %y
)";
  CHECK(KernelOn("x86-64-opencl", text) == "opencl.conv.winograd");
  CHECK(KernelOn("x86-64-gpu", text) == "opencl.conv.tile");
}

TEST_CASE("ChooseKernels: portable_only takes the portable kernel of every op") {
  Graph graph = Parsed(kConv);
  KernelChoiceOptions options;
  options.portable_only = true;
  const auto mapping = ChooseKernels(graph, options);
  REQUIRE(mapping.ok());
  REQUIRE(mapping->size() == 2);
  for (const OpId id : graph.OpOrder()) {
    CHECK(CapsOf(graph.op(id)).portable);
    CHECK(graph.op(id).backend == "cpu");
    CHECK(graph.op(id).workspace_bytes == 0);
  }
}

TEST_CASE(
    "ChooseKernels: a microcontroller's ops get its instruction set's kernels or portable ones") {
  constexpr const char* kModel = R"(graph g
input %x: i8[1,2,3,3]
const %w: i8[2,2,3,3] = random(1)
const %m: f32[1] = [0.01]
input %f: f32[1,2,3,3]
const %v: f32[2,2,3,3] = random(2)
%y = quantized_conv(%x, %w, _, %m)
%z = conv(%f, %v)
output %y
output %z
)";
  for (const auto& [name, kernel] : {std::pair("cortex-m55", "cpu.quantized_conv.helium"),
                                     std::pair("cortex-m7", "cpu.quantized_conv.dsp")}) {
    const auto board = LoadBoard(name);
    REQUIRE(board.ok());
    const Unit* unit = ComputeUnit(*board);
    REQUIRE(unit != nullptr);
    KernelChoiceOptions options;
    options.board = &*board;
    options.portable_only = unit->portable_kernels_only;
    options.kernel_set = unit->kernel_set;
    Graph graph = Parsed(kModel);
    REQUIRE(ChooseKernels(graph, options).ok());
    std::vector<std::string> kernels;
    for (const OpId id : graph.OpOrder()) kernels.push_back(graph.op(id).kernel);
    CHECK(std::count(kernels.begin(), kernels.end(), kernel) == 1);
    CHECK(std::count(kernels.begin(), kernels.end(), "cpu.conv.portable") == 1);
  }
}

constexpr const char* kProduct = R"(graph g
input %x: f32[1,8,16]
input %w: f32[1,16,8]
%y = matmul(%x, %w)
output %y
)";

TEST_CASE("ChooseKernels: boards with our own fast kernels get none of a library's") {
  for (const char* name : {"rk3588", "kv260"}) {
    const auto board = LoadBoard(name);
    REQUIRE(board.ok());
    const Unit* unit = ComputeUnit(*board);
    REQUIRE(unit != nullptr);
    KernelChoiceOptions options;
    options.portable_only = unit->portable_kernels_only;
    options.kernel_set = unit->kernel_set;
    Graph conv = Parsed(kConv);
    Graph product = Parsed(kProduct);
    REQUIRE(ChooseKernels(conv, options).ok());
    REQUIRE(ChooseKernels(product, options).ok());
    CHECK(conv.op(conv.OpOrder()[0]).kernel.find("cpu.conv.vector") == 0);
    CHECK(product.op(product.OpOrder()[0]).kernel == "cpu.matmul.vector_computed");
  }
}

TEST_CASE("ChooseKernels: the first kernel that supports the op, with reasons of those before it") {
  Graph graph = Parsed(kConv);
  const auto mapping = ChooseKernels(graph, KernelChoiceOptions());
  REQUIRE(mapping.ok());
  for (size_t i = 0; i < mapping->size(); ++i) {
    const MappedOp& mapped = (*mapping)[i];
    const Op& op = graph.op(graph.OpOrder()[i]);
    CHECK(mapped.op == op.name);
    REQUIRE(!mapped.candidates.empty());
    CHECK(mapped.candidates.back().kernel == op.kernel);
    CHECK(mapped.candidates.back().reason.empty());
    for (size_t k = 0; k + 1 < mapped.candidates.size(); ++k) {
      CHECK_FALSE(mapped.candidates[k].reason.empty());
    }
  }
}

TEST_CASE("ChooseKernels: the workspace is that of the kernel for the threads asked for") {
  Graph one = Parsed(kConv);
  Graph many = Parsed(kConv);
  KernelChoiceOptions options;
  REQUIRE(ChooseKernels(one, options).ok());
  options.threads = 16;
  REQUIRE(ChooseKernels(many, options).ok());
  const Op& op = many.op(many.OpOrder()[0]);
  const cpu::KernelCaps& caps = CapsOf(op);
  const OpCallView view(many, op);
  const size_t expected =
      caps.workspace_bytes == nullptr ? 0 : caps.workspace_bytes(view.call(), 16);
  CHECK(op.workspace_bytes == static_cast<int64_t>(expected));
  CHECK(one.op(one.OpOrder()[0]).workspace_bytes <= op.workspace_bytes);
}

TEST_CASE("ChooseKernels: ops that nothing runs are named all at once, with every reason") {
  Graph graph = Parsed(R"(graph g
input %x: f16[1,2,3,3]
%a = average_pool(%x) {kernel=[2,2]} "first"
%y = lrn(%a) "second"
output %y
)");
  const auto mapping = ChooseKernels(graph, KernelChoiceOptions());
  REQUIRE_FALSE(mapping.ok());
  CHECK(mapping.error().kind == ErrorKind::kInput);
  CHECK(mapping.error().message == "no kernel runs 2 op(s) of this model");
  REQUIRE(mapping.error().details.size() == 2);
  CHECK(mapping.error().details[0].find("first (average_pool):") == 0);
  CHECK(mapping.error().details[1].find("the portable kernel runs f32 only") != std::string::npos);
}

TEST_CASE("UsePortableKernel: every kind of op has one") {
  for (int kind = 0; kind < kOpKindCount; ++kind) {
    Op op;
    op.kind = static_cast<OpKind>(kind);
    UsePortableKernel(op);
    CHECK(op.backend == "cpu");
    CHECK(CapsOf(op).kind == op.kind);
    CHECK(CapsOf(op).portable);
  }
}

constexpr const char* kWinograd = R"(graph g
input %x: f32[1,32,16,16]
const %w: f32[32,32,3,3] = random(1)
%y = conv(%x, %w) {pads=[1,1,1,1]}
output %y
)";

/// The first op's mapping under `options`, and its kernel in `graph`.
MappedOp Chosen(Graph& graph, const KernelChoiceOptions& options) {
  const auto mapping = ChooseKernels(graph, options);
  REQUIRE(mapping.ok());
  return mapping->front();
}

TEST_CASE("ChooseKernels: a kernel whose workspace is over the limit gives way, and says so") {
  Graph free = Parsed(kWinograd);
  Chosen(free, KernelChoiceOptions());
  const Op before = free.op(free.OpOrder()[0]);
  REQUIRE(before.workspace_bytes > 0);
  Graph graph = Parsed(kWinograd);
  KernelChoiceOptions options;
  options.workspace_limit = before.workspace_bytes - 1;
  const MappedOp mapped = Chosen(graph, options);
  const Op& op = graph.op(graph.OpOrder()[0]);
  CHECK(op.kernel != before.kernel);
  CHECK(op.workspace_bytes <= *options.workspace_limit);
  const std::string expected = fmt::format("workspace of {} bytes is over the limit of {}",
                                           before.workspace_bytes, *options.workspace_limit);
  bool said = false;
  for (const Candidate& candidate : mapped.candidates) {
    said = said || (candidate.kernel == before.kernel && candidate.reason == expected);
  }
  CHECK(said);
  options.workspace_limit = before.workspace_bytes;
  Chosen(graph, options);
  CHECK(graph.op(graph.OpOrder()[0]).kernel == before.kernel);
}

TEST_CASE("ChooseKernels: with no packed weights allowed, what runs holds none") {
  Graph graph = Parsed(kWinograd);
  KernelChoiceOptions options;
  options.packed_limit = 0;
  const MappedOp mapped = Chosen(graph, options);
  CHECK(PackedBytes(graph) == 0);
  CHECK((CapsOf(graph.op(graph.OpOrder()[0])).packed_bytes == nullptr));
  bool said = false;
  for (const Candidate& candidate : mapped.candidates) {
    said = said || candidate.reason.find("are over the limit of 0") != std::string::npos;
  }
  CHECK(said);
}

TEST_CASE("PackedBytes: ops with the same weights count once, others each") {
  const auto packed = [](std::string_view text) {
    Graph graph = Parsed(text);
    Chosen(graph, KernelChoiceOptions());
    return PackedBytes(graph);
  };
  const int64_t one = packed(kWinograd);
  CHECK(one >= 32 * 32 * 36 * 4);
  CHECK(packed(R"(graph g
input %x: f32[1,32,16,16]
const %w: f32[32,32,3,3] = random(1)
%a = conv(%x, %w) {pads=[1,1,1,1]}
%y = conv(%a, %w) {pads=[1,1,1,1]}
output %y
)") == one);
  CHECK(packed(R"(graph g
input %x: f32[1,32,16,16]
const %w: f32[32,32,3,3] = random(1)
const %v: f32[32,32,3,3] = random(2)
%a = conv(%x, %w) {pads=[1,1,1,1]}
%y = conv(%a, %v) {pads=[1,1,1,1]}
output %y
)") == 2 * one);
}

}  // namespace
}  // namespace tenon::converter
