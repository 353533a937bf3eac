// Ops of parallel branches that start together: whole conversions, whose results have the bits of
// those without.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>

#include "converter/ir/text.hpp"
#include "converter/report/decisions.hpp"
#include "runtime/format/plan_view.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/support/plan_bytes.hpp"
#include "tests/support/random_graph.hpp"
#include "tests/unit/runtime/format/plan_fixture.hpp"

namespace tenon::test {
namespace {

using converter::Conversion;
using converter::ConvertOptions;
using converter::Graph;

ConvertOptions OptionsWith(const std::string& board, bool fuse) {
  ConvertOptions options = OptionsFor(board);
  options.compile.branches = {fuse, 2, 0};
  options.compile.arena.place.work_budget = 2'000;
  options.compile.order.budget = 2'000;
  return options;
}

Conversion ConvertedWith(const Graph& graph, const ConvertOptions& options) {
  auto conversion = converter::ConvertGraph(graph, options);
  REQUIRE_MESSAGE(conversion.ok(), conversion.error().message);
  return std::move(*conversion);
}

/// Groups of the plan, and how many of them have a kernel of their own.
struct Groups {
  size_t count = 0;
  size_t with_source = 0;
};
Groups GroupsOf(const Conversion& conversion) {
  const PlanBytes bytes(conversion.plan);
  const auto view = PlanView::Open({static_cast<const uint8_t*>(bytes.data()), bytes.size()});
  REQUIRE(view.ok());
  Groups groups;
  const ProgramView program = view->program(0);
  groups.count = program.group_count();
  for (size_t g = 0; g < groups.count; ++g) {
    groups.with_source += program.group(g).source[0] != '\0' ? 1 : 0;
  }
  return groups;
}

RunSettings TwoThreads() {
  RunSettings settings;
  settings.threads = 2;
  return settings;
}

/// Converts with and without, and compares the results. Returns the groups.
Groups CompareOn(const std::string& board, const Graph& graph, uint64_t seed) {
  const Conversion with = ConvertedWith(graph, OptionsWith(board, true));
  const Conversion without = ConvertedWith(graph, OptionsWith(board, false));
  CHECK(GroupsOf(without).count == 0);
  const auto inputs = RandomInputs(graph, seed);
  const RunResult fused = RunPlan(with.plan, inputs, TwoThreads());
  const RunResult apart = RunPlan(without.plan, inputs, TwoThreads());
  REQUIRE(fused.error == "");
  REQUIRE(apart.error == "");
  CHECK(fused.outputs == apart.outputs);
  CHECK(fused.notice == "");
  return GroupsOf(with);
}

// Branches of different kinds, shapes and layouts; two of the products share nothing but the shape.
constexpr char kBranches[] =
    "input %x: f32[1,16,12,12]\n"
    "const %a: f32[24,16,1,1] = random(1)\n"
    "const %b: f32[8,16,3,3] = random(2)\n"
    "const %c: f32[20,1,3,3] = random(3)\n"
    "const %d: f32[20,16,1,1] = random(4)\n"
    "%p = conv(%x, %a)\n"
    "%q = conv(%x, %b) {pads=[1,1,1,1]}\n"
    "%r = max_pool(%x) {kernel=[3,3],pads=[1,1,1,1]}\n"
    "%s0 = conv(%x, %d)\n"
    "%s = conv(%s0, %c) {group=20,pads=[1,1,1,1]}\n"
    "%t = unary(%r) {function=tanh}\n"
    "%u = unary(%q) {function=sigmoid}\n"
    "%y = concat(%p, %u, %s, %t) {axis=1}\n"
    "%z = transpose(%q) {permutation=[0,2,3,1]}\n"
    "output %y\noutput %z\n";

Graph Branches() {
  auto graph = converter::ParseGraph(kBranches);
  REQUIRE_MESSAGE(graph.ok(), graph.error().message);
  return std::move(*graph);
}

}  // namespace

TEST_CASE("Fused branches: on the CPU, threads take the ops of a group and give the same bits") {
  const Groups groups = CompareOn("x86-64", Branches(), 1);
  CHECK(groups.count >= 2);
  CHECK(groups.with_source == 0);
}

TEST_CASE("Fused branches: random graphs on the CPU give the same bits") {
  size_t groups = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    RandomGraphOptions random;
    random.most_ops = 10 + static_cast<int>(seed % 20);
    groups += CompareOn("x86-64", RandomGraph(seed, random), seed).count;
  }
  CHECK(groups > 30);
}

TEST_CASE("Fused branches: where memory is short, groups are given up before chains are cut") {
  int short_of_memory = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    RandomGraphOptions random;
    random.most_ops = 20;
    const Graph graph = RandomGraph(seed, random);
    ConvertOptions with = OptionsWith("x86-64", true);
    ConvertOptions without = OptionsWith("x86-64", false);
    // What is enough for the ops one by one.
    const Conversion apart = ConvertedWith(graph, without);
    const int64_t limit = apart.memory.arena_bytes + apart.memory.packed_bytes;
    if (limit == 0) continue;
    with.board.FindSpace("ram")->bytes = without.board.FindSpace("ram")->bytes = limit;
    const Conversion fused = ConvertedWith(graph, with);
    CHECK(fused.time.after <= ConvertedWith(graph, without).time.after);
    CHECK(fused.op_splits.splits.empty());
    CHECK(fused.chain_splits.chains.empty());
    const Conversion free = ConvertedWith(graph, OptionsWith("x86-64", true));
    short_of_memory += free.memory.arena_bytes > apart.memory.arena_bytes ? 1 : 0;
  }
  CHECK(short_of_memory > 5);
}

TEST_CASE("Fused branches: one thread has no groups, and the report says why") {
  ConvertOptions options = OptionsWith("x86-64", true);
  options.compile.branches.threads = 1;
  const Conversion conversion = ConvertedWith(Branches(), options);
  CHECK(GroupsOf(conversion).count == 0);
  const auto json = converter::DecisionsJson(conversion);
  CHECK(json["branches"]["fuse"] == "auto");
  CHECK(json["branches"]["starts"] == json["branches"]["ops"]);
  REQUIRE(json["branches"]["refusals"].size() == 1);
  CHECK(json["branches"]["refusals"][0]["reason"] == "the CPU runs it on one thread");
}

TEST_CASE("Fused branches: the report has every group with its times") {
  const ConvertOptions options = OptionsWith("x86-64", true);
  const Conversion conversion = ConvertedWith(Branches(), options);
  const auto branches = converter::DecisionsJson(conversion)["branches"];
  CHECK(branches["groups"].size() == GroupsOf(conversion).count);
  CHECK(branches["starts"] < branches["ops"]);
  CHECK(branches["starts"] >= branches["depth"]);
  for (const auto& group : branches["groups"]) {
    CHECK(group["ops"].size() >= 2);
    CHECK(group["us"] < group["alone_us"]);
  }
}

#ifdef TENON_TEST_OPENCL

TEST_CASE("Fused branches: on OpenCL a group is one kernel and gives the same bits") {
  const Groups groups = CompareOn("x86-64-opencl", Branches(), 1);
  CHECK(groups.count >= 2);
  CHECK(groups.with_source == groups.count);
}

TEST_CASE("Fused branches: random graphs on OpenCL give the same bits") {
  size_t groups = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    CAPTURE(seed);
    RandomGraphOptions random;
    random.most_ops = 12 + static_cast<int>(seed % 12);
    groups += CompareOn("x86-64-opencl", RandomGraph(seed, random), seed).with_source;
  }
  CHECK(groups > 3);
}

TEST_CASE("Fused branches: on OpenCL launches of ops that wait for each other start in phases") {
  // One branch by Winograd's way in two pieces of three launches, one in a single launch, and a
  // product whose second factor is packed first.
  auto graph = converter::ParseGraph(
      "input %x: f32[1,32,56,56]\n"
      "input %l: f32[4,24,40]\n"
      "input %m: f32[4,40,24]\n"
      "const %a: f32[32,32,3,3] = random(1)\n"
      "const %b: f32[48,32,1,1] = random(2)\n"
      "%p = conv(%x, %a) {pads=[1,1,1,1]}\n"
      "%q = conv(%x, %b)\n"
      "%r = matmul(%l, %m)\n"
      "output %p\noutput %q\noutput %r\n");
  REQUIRE_MESSAGE(graph.ok(), graph.error().message);
  const Conversion conversion = ConvertedWith(*graph, OptionsWith("x86-64-opencl", true));
  CHECK(conversion.graph_text.find("opencl.conv.winograd") != std::string::npos);
  // The layout of %x is converted beside the product's first launch, or its second.
  const auto branches = converter::DecisionsJson(conversion)["branches"];
  CHECK(branches["starts"].get<int>() == branches["ops"].get<int>() - 2);
  const Groups groups = CompareOn("x86-64-opencl", *graph, 1);
  CHECK(groups.with_source == groups.count);
}

TEST_CASE(
    "Fused branches: on OpenCL a channel shuffle's halves and enlarged images are one start") {
  auto graph = converter::ParseGraph(
      "input %x: f32[1,16,12,12]\n"
      "const %a: i64[4] = [0, 2, 4, 6]\n"
      "const %b: i64[4] = [1, 3, 5, -1]\n"
      "%p = gather(%x, %a) {axis=1}\n"
      "%q = gather(%x, %b) {axis=1}\n"
      "%r: f32[1,16,24,24] = resize(%x) {coordinates=asymmetric, nearest=floor, "
      "sizes=[1,16,24,24], scales=[1,1,2,2]}\n"
      "output %p\noutput %q\noutput %r\n");
  REQUIRE_MESSAGE(graph.ok(), graph.error().message);
  const Groups groups = CompareOn("x86-64-opencl", *graph, 1);
  CHECK(groups.count == 1);
  CHECK(groups.with_source == 1);
  CHECK(ConvertedWith(*graph, OptionsWith("x86-64-opencl", true)).branches.starts == 1);
}

TEST_CASE("Fused branches: a device that refuses a group's source starts its ops one by one") {
  const Graph graph = Branches();
  const Conversion with = ConvertedWith(graph, OptionsWith("x86-64-opencl", true));
  const auto inputs = RandomInputs(graph, 1);
  const RunResult fused = RunPlan(with.plan, inputs, TwoThreads());
  REQUIRE(fused.error == "");
  // A name that only groups' sources use stands for what is no name.
  setenv("TENON_OPENCL_OPTIONS", "-Dtenon_find_item=3", 1);
  const RunResult apart = RunPlan(with.plan, inputs, TwoThreads());
  unsetenv("TENON_OPENCL_OPTIONS");
  CHECK(apart.error == "");
  CHECK(apart.outputs == fused.outputs);
}

/// Puts other text of the same length into the sources of all groups, with all sums right.
std::vector<uint8_t> WithOtherSource(std::vector<uint8_t> plan, const std::string& text,
                                     const std::string& other) {
  REQUIRE(text.size() == other.size());
  const auto* groups = plan::GetPlan(plan.data())->programs()->Get(0)->groups();
  for (const plan::Group* group : *groups) {
    const flatbuffers::String& source = *group->source();
    const size_t found = source.str().find(text);
    REQUIRE(found != std::string::npos);
    auto* const changed = const_cast<uint8_t*>(source.Data());
    std::copy(other.begin(), other.end(), changed + found);
    const uint32_t sums[] = {group->source_crc32c(), Crc32c(changed, source.size())};
    const auto bytes = [](const uint32_t& sum) { return reinterpret_cast<const uint8_t*>(&sum); };
    const auto sum = std::search(plan.begin(), plan.end(), bytes(sums[0]), bytes(sums[0]) + 4);
    REQUIRE(sum != plan.end());
    std::copy(bytes(sums[1]), bytes(sums[1]) + 4, sum);
  }
  Seal(plan);
  return plan;
}

TEST_CASE("Fused branches: a device never runs a source that is not made of the group's ops") {
  const Graph graph = Branches();
  const Conversion with = ConvertedWith(graph, OptionsWith("x86-64-opencl", true));
  // No work-group would find work: the outputs would stay as they were.
  const auto changed = WithOtherSource(with.plan, "get_group_id(0)", "(uint)999999999");
  const auto inputs = RandomInputs(graph, 1);
  const RunResult right = RunPlan(with.plan, inputs, TwoThreads());
  REQUIRE(right.error == "");
  const RunResult apart = RunPlan(changed, inputs, TwoThreads());
  CHECK(apart.error == "");
  CHECK(apart.outputs == right.outputs);
  CHECK(right.notice == "");
  CHECK(
      apart.notice.find("the plan's source of a group is not what this runtime makes of its ops") !=
      std::string::npos);
}

#endif

}  // namespace tenon::test
