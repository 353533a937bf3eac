#include "converter/map/kernel_choice.hpp"

#include <doctest/doctest.h>

#include "converter/ir/text.hpp"

namespace tenon::converter {
namespace {

Graph Parsed(std::string_view text) {
  auto graph = ParseGraph(text);
  if (!graph.ok()) FAIL(graph.error().message);
  return std::move(*graph);
}

constexpr const char* kConv = R"(graph g
input %x: f32[1,2,3,3]
const %w: f32[2,2,3,3] = random(1)
%y = conv(%x, %w)
%z = unary(%y) {function=relu}
output %z
)";

TEST_CASE("ChooseKernels: portable_only takes the portable kernel of every op") {
  Graph graph = Parsed(kConv);
  KernelChoiceOptions options;
  options.portable_only = true;
  const auto mapping = ChooseKernels(graph, options);
  REQUIRE(mapping.ok());
  REQUIRE(mapping->size() == 2);
  for (const OpId id : graph.OpOrder()) {
    CHECK(cpu::IsPortable(CapsOf(graph.op(id))));
    CHECK(graph.op(id).backend == "cpu");
    CHECK(graph.op(id).workspace_bytes == 0);
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
    CHECK(cpu::IsPortable(CapsOf(op)));
  }
}

}  // namespace
}  // namespace tenon::converter
