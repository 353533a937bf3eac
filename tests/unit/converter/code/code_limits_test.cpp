// Memory limits of plans with code: they count what such plans take.
#include <doctest/doctest.h>

#include "converter/ir/text.hpp"
#include "tests/support/convert_and_run.hpp"

using namespace tenon;             // NOLINT
using namespace tenon::converter;  // NOLINT

namespace {

/// Two maps of 36 KiB that only the accelerator uses, between ports of 2 KiB.
constexpr const char* kWideInside = R"(graph g
input %x: i8[1,32,8,8]
const %w: i8[576,32,1,1] = random(1)
const %v: i8[576,576,1,1] = random(2)
const %u: i8[32,576,1,1] = random(3)
const %m: f32[1] = [0.001]
%a = quantized_conv(%x, %w, _, %m) {to=i8}
%b = quantized_conv(%a, %v, _, %m) {to=i8}
%c = quantized_conv(%b, %u, _, %m) {to=i8}
%y = quantized_softmax(%c) {axis=1, scale=0.1, output_scale=0.00390625, to=i8}
output %y
)";

/// A residual block that goes through scratch memory.
constexpr const char* kWithScratch = R"(graph g
input %x: i8[1,64,160,160]
const %w: i8[64,64,1,1] = random(1)
const %m: f32[1] = [0.001]
%a = quantized_conv(%x, %w, _, %m) {to=i8}
%b = quantized_conv(%a, %w, _, %m) {to=i8}
%c = quantized_binary(%b, %a) {function=add, to=i8}
%y = max_pool(%c) {kernel=[4,4], strides=[4,4]}
output %y
)";

converter::Result<Conversion> Converted(const char* text, const ConvertOptions& options) {
  auto graph = ParseGraph(text);
  if (!graph.ok()) FAIL(graph.error().message);
  return ConvertGraph(std::move(*graph), options);
}

/// The options with a limit on the space of the arena.
ConvertOptions WithBytes(ConvertOptions options, int64_t bytes) {
  MemorySpace* space = options.board.FindSpace(options.board.ArenaSpace()->name);
  space->bytes = space->reserve_bytes + bytes;
  return options;
}

/// What the plan takes of the arena's space.
int64_t BytesOf(const Conversion& conversion, const Board& board) {
  const int64_t constants =
      board.ArenaSpace()->holds_constants ? conversion.memory.constants_bytes : 0;
  return conversion.memory.arena_bytes + constants + conversion.memory.packed_bytes;
}

}  // namespace

TEST_CASE("a memory limit counts no map that stays on the accelerator's chip") {
  for (const char* board : {"kv260", "x86-64-fpga"}) {
    CAPTURE(board);
    const ConvertOptions options = test::OptionsFor(board);
    const auto free = Converted(kWideInside, options);
    REQUIRE(free.ok());
    REQUIRE(free->ops_by_backend.at("fpga") == 3);
    constexpr int64_t kSlack = 512;  // sections are padded
    const int64_t bytes = BytesOf(*free, options.board) + kSlack;
    const auto limited = Converted(kWideInside, WithBytes(options, bytes));
    if (!limited.ok()) FAIL(limited.error().message);
    CHECK(limited->ops_by_backend.at("fpga") == 3);
    CHECK(limited->op_splits.splits.empty());
    CHECK(limited->memory.arena_bytes == free->memory.arena_bytes);
  }
}

TEST_CASE("a memory limit counts the scratch memory of code") {
  const ConvertOptions options = test::OptionsFor("x86-64-fpga");
  const auto free = Converted(kWithScratch, options);
  REQUIRE(free.ok());
  const int64_t bytes = BytesOf(*free, options.board);
  REQUIRE(bytes > 64 * 160 * 160 * 2);  // the input and the scratch memory
  const auto same = Converted(kWithScratch, WithBytes(options, bytes));
  if (!same.ok()) FAIL(same.error().message);
  CHECK(same->memory.arena_bytes == free->memory.arena_bytes);
  // With less there is another plan, or a refusal: none that takes more.
  const auto less = Converted(kWithScratch, WithBytes(options, bytes - 4096));
  if (less.ok()) {
    CHECK(BytesOf(*less, options.board) <= bytes - 4096);
  } else {
    CHECK(less.error().kind == ErrorKind::kDoesNotFit);
  }
}
