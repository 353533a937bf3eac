// Where memory counts, a model is converted without the passes that may need more of it, too.
#include <doctest/doctest.h>

#include <algorithm>

#include "converter/driver/pipeline.hpp"
#include "converter/driver/refusal.hpp"
#include "converter/ir/text.hpp"
#include "tests/support/convert_and_run.hpp"

namespace tenon::test {
namespace {

using converter::Conversion;
using converter::ConvertOptions;
using converter::Graph;
using converter::Objective;

/// An image of 16 channels whose pixels are shuffled to one of twice the size, which is the output:
/// moved channels last, it exists twice.
Graph ShuffledOutput() {
  auto graph = converter::ParseGraph(
      "input %x: f32[1,8,14,14]\nconst %w: f32[64,8,1,1] = random(1)\n%c = conv(%x, %w)\n"
      "%d = reshape(%c) {dims=[1,16,2,2,14,14]}\n"
      "%e = transpose(%d) {permutation=[0,1,4,2,5,3]}\n"
      "%y = reshape(%e) {dims=[1,16,28,28]}\noutput %y\n");
  REQUIRE(graph.ok());
  return std::move(*graph);
}

bool HasChanged(const Conversion& conversion, const char* pass) {
  return std::any_of(conversion.passes.begin(), conversion.passes.end(),
                     [&](const auto& report) { return report.name == pass && report.changed > 0; });
}

bool HasMoved(const Conversion& conversion) { return HasChanged(conversion, "move-channels-last"); }

TEST_CASE("ConvertGraph: for memory, the form that needs fewer bytes is kept") {
  const Graph graph = ShuffledOutput();
  ConvertOptions options = OptionsFor();
  const auto fast = converter::ConvertGraph(graph, options);
  REQUIRE(fast.ok());
  CHECK(HasMoved(*fast));
  options.compile.objective = Objective::kMemory;
  const auto lean = converter::ConvertGraph(graph, options);
  REQUIRE(lean.ok());
  CHECK_FALSE(HasMoved(*lean));
  CHECK(lean->memory.arena_bytes < fast->memory.arena_bytes);
}

TEST_CASE("ConvertGraph: for memory, images are not transposed to be normalised by channels") {
  const auto graph = converter::ParseGraph(
      "input %x: f32[1,8,14,14]\nconst %epsilon: f32[] = [0.001]\n"
      "%mean = reduce(%x) {function=mean, axes_mask=2}\n"
      "%d = binary(%x, %mean) {function=sub}\n"
      "%q = binary(%d, %d) {function=mul}\n"
      "%v = reduce(%q) {function=mean, axes_mask=2}\n"
      "%e = binary(%v, %epsilon)\n%s = unary(%e) {function=sqrt}\n"
      "%y = binary(%d, %s) {function=div}\noutput %y\n");
  REQUIRE(graph.ok());
  ConvertOptions options = OptionsFor("cortex-m7");
  const auto fast = converter::ConvertGraph(*graph, options);
  REQUIRE(fast.ok());
  CHECK(HasChanged(*fast, "fuse-channel-norm"));
  options.compile.objective = Objective::kMemory;
  const auto lean = converter::ConvertGraph(*graph, options);
  REQUIRE(lean.ok());
  CHECK_FALSE(HasChanged(*lean, "fuse-channel-norm"));
  CHECK(lean->memory.arena_bytes < fast->memory.arena_bytes);
}

TEST_CASE("ConvertGraph: a refusal offers the limit of the form that needs fewer bytes") {
  const Graph graph = ShuffledOutput();
  ConvertOptions options = OptionsFor();
  converter::MemorySpace& space = *options.board.FindSpace(options.board.ArenaSpace()->name);
  space.bytes = 4096 + space.reserve_bytes;
  const auto refused = converter::ConvertGraph(graph, options);
  REQUIRE_FALSE(refused.ok());
  const int64_t offered = converter::OfferedLimit(refused.error(), space.name);
  REQUIRE(offered > 4096);
  space.bytes = offered + space.reserve_bytes;
  const auto lean = converter::ConvertGraph(graph, options);
  REQUIRE(lean.ok());
  CHECK_FALSE(HasMoved(*lean));
}

}  // namespace
}  // namespace tenon::test
