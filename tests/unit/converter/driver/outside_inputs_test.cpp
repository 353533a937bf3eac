// Inputs in memory of the caller's own, or handed in by rows: they take nothing of the arena, and
// the values stay the same.
#include "converter/driver/outside_inputs.hpp"

#include <doctest/doctest.h>

#include "runtime/format/plan_view.hpp"
#include "tests/unit/converter/driver/conv_chain.hpp"

namespace tenon::converter {
namespace {

/// An image as a camera delivers it, which three convolutions reduce.
constexpr const char* kCamera = R"(input %x as "image": f32[1,24,24,2]
const %w1: f32[16,2,3,3] = random(1)
const %w2: f32[16,16,3,3] = random(2)
const %w3: f32[2,16,3,3] = random(3)
%t = transpose(%x) {permutation=[0,3,1,2]}
%a = conv(%t, %w1) {pads=[1,1,1,1], strides=[2,2]}
%b = conv(%a, %w2) {pads=[1,1,1,1]}
%y = conv(%b, %w3) {pads=[1,1,1,1], strides=[2,2]}
output %y
)";
constexpr int64_t kImageBytes = int64_t{24} * 24 * 2 * 4;

ConvertOptions Smallest(const std::vector<InputFrom>& from) {
  ConvertOptions options = test::OptionsFor();
  options.board.units[0].portable_kernels_only = true;
  options.compile.objective = Objective::kMemory;
  options.compile.order.budget = 2000;
  options.compile.arena.place.work_budget = 2000;
  options.split.work_budget = 200'000;
  options.input_from = from;
  return options;
}

Conversion Converted(std::string_view text, const std::vector<InputFrom>& from) {
  auto conversion = ConvertGraph(Parsed(text), Smallest(from));
  if (!conversion.ok()) FAIL(conversion.error().message);
  return std::move(*conversion);
}

std::string Refusal(std::string_view text, const std::vector<InputFrom>& from) {
  const auto conversion = ConvertGraph(Parsed(text), Smallest(from));
  return conversion.ok() ? "" : conversion.error().message;
}

/// The plan's bytes, at an address that a reader takes.
struct Opened {
  explicit Opened(const std::vector<uint8_t>& bytes)
      : aligned(bytes.size() / sizeof(std::max_align_t) + 1) {
    std::memcpy(aligned.data(), bytes.data(), bytes.size());
    auto opened = PlanView::Open({reinterpret_cast<const uint8_t*>(aligned.data()), bytes.size()});
    REQUIRE(opened.ok());
    view = *opened;
  }
  std::vector<std::max_align_t> aligned;
  PlanView view;
};

TEST_CASE("ParseInputFrom: memory, or rows in a positive number") {
  CHECK(ParseInputFrom("x", "memory")->rows == 0);
  CHECK(ParseInputFrom("x", "rows:8")->rows == 8);
  for (const char* text : {"", "rows", "rows:", "rows:0", "rows:-1", "rows:8x", "flash"}) {
    CAPTURE(text);
    REQUIRE_FALSE(ParseInputFrom("x", text).ok());
    CHECK(ParseInputFrom("x", text).error().kind == ErrorKind::kUsage);
  }
}

TEST_CASE("Inputs outside: one in memory of the caller's own takes nothing of the arena") {
  const Conversion inside = Converted(kCamera, {});
  const Conversion outside = Converted(kCamera, {{"image", 0}});
  CHECK(outside.memory.arena_bytes < inside.memory.arena_bytes - kImageBytes / 2);
  REQUIRE(outside.outside.size() == 1);
  CHECK(outside.outside[0].bytes == kImageBytes);
  const Opened plan(outside.plan);
  const ProgramView program = plan.view.program(0);
  REQUIRE(program.arena_count() == 2);
  CHECK(program.arena_use(0) == ArenaUse::kPlanned);
  CHECK(program.arena_use(1) == ArenaUse::kInput);
  CHECK(program.arena(1).bytes == kImageBytes);
  CHECK(std::string(plan.view.space_name(program.arena(1).space)) == "input:image");
  const auto inputs = test::RandomInputs(Parsed(kCamera), 1);
  CHECK(Outputs(outside, inputs) == Outputs(inside, inputs));
}

TEST_CASE("Inputs outside: one that comes by rows is copied in windows, in order") {
  const Conversion inside = Converted(kCamera, {});
  const auto inputs = test::RandomInputs(Parsed(kCamera), 2);
  for (const int32_t rows : {1, 3, 8, 24, 100}) {
    CAPTURE(rows);
    const Conversion by_rows = Converted(kCamera, {{"image", rows}});
    const Opened plan(by_rows.plan);
    CHECK(plan.view.program(0).arena_use(1) == ArenaUse::kRows);
    CHECK(Outputs(by_rows, inputs) == Outputs(inside, inputs));
    if (rows <= 3) CHECK(by_rows.memory.arena_bytes < inside.memory.arena_bytes);
  }
}

TEST_CASE("Inputs outside: rows come so many at a time, but for the last") {
  const Conversion by_rows = Converted(kCamera, {{"image", 5}});
  const Opened plan(by_rows.plan);
  const ProgramView program = plan.view.program(0);
  int64_t left = kImageBytes;
  for (size_t step = 0; step < program.step_count(0); ++step) {
    const OpInfo op = program.op(program.step_op(0, step));
    const TensorInfo read = program.tensor(static_cast<size_t>(op.inputs[0]));
    if (program.storage(read.storage).home != StorageHome::kArena ||
        program.storage(read.storage).index != 1) {
      continue;
    }
    int64_t bytes = DTypeBytes(read.dtype);
    for (const int32_t dim : read.dims) bytes *= dim;
    left -= bytes;
    if (left > 0) CHECK(bytes % (int64_t{5} * 24 * 2 * 4) == 0);
  }
  CHECK(left == 0);
}

/// What a model that is made of integers does with an image of floats, channels last.
constexpr const char* kQuantized = R"(input %x as "image": f32[1,24,24,2]
const %s: f32[1] = [0.0078125]
const %z: i8[1] = [3]
const %w1: f32[6,2,3,3] = random(1)
%q = quantize(%x, %s, %z)
%t = transpose(%q) {permutation=[0,3,1,2]}
%d = dequantize(%t, %s, %z)
%y = conv(%d, %w1) {pads=[1,1,1,1], strides=[2,2]}
output %y
)";

TEST_CASE("Inputs outside: rows of an image that is quantized before it is turned") {
  const auto inputs = test::RandomInputs(Parsed(kQuantized), 4);
  const Conversion inside = Converted(kQuantized, {});
  for (const int32_t rows : {1, 5, 24}) {
    CAPTURE(rows);
    const Conversion by_rows = Converted(kQuantized, {{"image", rows}});
    CHECK(Outputs(by_rows, inputs) == Outputs(inside, inputs));
  }
}

/// A matrix whose rows become those of an image.
constexpr const char* kReshaped = R"(input %x as "image": f32[24,24,1,1]
const %w1: f32[6,1,3,3] = random(1)
%image = reshape(%x) {dims=[1,1,24,24]}
%y = conv(%image, %w1) {pads=[1,1,1,1], strides=[2,2]}
output %y
)";

TEST_CASE("Inputs outside: rows of an image that a reshape makes of many rows") {
  const auto inputs = test::RandomInputs(Parsed(kReshaped), 5);
  const Conversion by_rows = Converted(kReshaped, {{"image", 4}});
  CHECK(Outputs(by_rows, inputs) == Outputs(Converted(kReshaped, {}), inputs));
}

/// The image stands beside what a convolution makes of it: their pixels alternate.
constexpr const char* kBeside = R"(input %x as "image": f32[1,24,24,2]
const %w1: f32[6,2,3,3] = random(1)
const %w2: f32[2,8,3,3] = random(2)
%t = transpose(%x) {permutation=[0,3,1,2]}
%a = conv(%t, %w1) {pads=[1,1,1,1]}
%both = concat(%t, %a) {axis=1}
%y = conv(%both, %w2) {pads=[1,1,1,1], strides=[2,2]}
output %y
)";

TEST_CASE("Inputs outside: rows that a concatenation takes too come as one run of bytes") {
  const auto inputs = test::RandomInputs(Parsed(kBeside), 3);
  const Conversion inside = Converted(kBeside, {});
  for (const Objective objective : {Objective::kMemory, Objective::kLatency}) {
    for (const int32_t rows : {1, 4, 24}) {
      CAPTURE(rows);
      ConvertOptions options = Smallest({{"image", rows}});
      options.compile.objective = objective;
      const auto by_rows = ConvertGraph(Parsed(kBeside), options);
      if (!by_rows.ok()) FAIL(by_rows.error().message);
      CHECK(Outputs(*by_rows, inputs) == Outputs(inside, inputs));
    }
  }
}

TEST_CASE("Inputs outside: what cannot be done is refused, with what to do") {
  const std::string planar = kChain;
  CHECK(Refusal(planar, {{"x", 1}}).find("--input-format x=...,nhwc") != std::string::npos);
  CHECK(Refusal("input %x: f32[2,24,24,3]\n%y = unary(%x) {function=exp}\noutput %y\n", {{"x", 1}})
            .find("it is 2 images") != std::string::npos);
  CHECK(Refusal(planar, {{"y", 0}}).find("the model has no input 'y' (it has x)") !=
        std::string::npos);
  CHECK(Refusal(planar, {{"x", 0}, {"x", 0}}).find("given twice") != std::string::npos);
}

}  // namespace
}  // namespace tenon::converter
