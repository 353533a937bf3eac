#include "converter/emit/emit_plan.hpp"

#include <doctest/doctest.h>

#include <cstring>

#include "converter/ir/text.hpp"
#include "converter/layout/assign_locations.hpp"
#include "converter/map/kernel_choice.hpp"
#include "runtime/format/plan_check.hpp"
#include "runtime/format/plan_view.hpp"

namespace tenon::converter {
namespace {

constexpr const char* kSlicedText = R"(graph g
input %x as "data": f32[2,3]
const %c: f32[3] = [1, 2, 3]
%a = binary(%x, %c) "first"
%b = unary(%a) {function=relu}
%s = slice(%b) {begins=[1,0], sizes=[1,3], steps=[1,1]}
%y = binary(%s, %c) {function=mul}
output %y as "prob"
)";

EmitOptions SomeOptions() {
  EmitOptions options;
  options.board = "board";
  options.board_fingerprint = 0x1234567890ABCDEF;
  options.memory_space = "sram";
  options.section_alignment = 128;
  options.options = {{"batch", "1"}, {"fuse", "off"}};
  return options;
}

std::vector<uint8_t> Emitted(std::string_view text, const EmitOptions& options = SomeOptions()) {
  auto graph = ParseGraph(text);
  if (!graph.ok()) FAIL(graph.error().message);
  for (const OpId id : graph->OpOrder()) UsePortableKernel(graph->MutableOp(id));
  PassReport report;
  auto locations = AssignLocations(*graph, report);
  REQUIRE(locations.ok());
  const ArenaPlan arena = PlanArena(*graph, *locations, ArenaOptions());
  auto plan = EmitPlan(*graph, *locations, arena, options);
  if (!plan.ok()) FAIL(plan.error().message);
  return std::move(*plan);
}

/// An opened plan that owns its bytes, and has passed the check.
class Opened {
 public:
  explicit Opened(const std::vector<uint8_t>& bytes)
      : blocks_(bytes.size() / sizeof(std::max_align_t) + 1) {
    std::memcpy(blocks_.data(), bytes.data(), bytes.size());
    const auto view =
        PlanView::Open({reinterpret_cast<const uint8_t*>(blocks_.data()), bytes.size()});
    if (!view.ok()) FAIL(ToString(view.status()));
    plan_ = *view;
    std::vector<std::max_align_t> scratch(PlanCheckScratchBytes(plan_) / 16 + 1);
    const tenon::Status status = CheckPlan(
        plan_, {reinterpret_cast<uint8_t*>(scratch.data()), scratch.size() * sizeof scratch[0]});
    if (!status.ok()) FAIL(ToString(status));
  }
  const PlanView* operator->() const { return &plan_; }
  [[nodiscard]] ProgramView program() const { return plan_.program(0); }

 private:
  std::vector<std::max_align_t> blocks_;
  PlanView plan_;
};

TEST_CASE("EmitPlan: the same arguments give the same bytes") {
  CHECK(Emitted(kSlicedText) == Emitted(kSlicedText));
  EmitOptions other = SomeOptions();
  other.options.pop_back();
  CHECK(Emitted(kSlicedText) != Emitted(kSlicedText, other));
}

TEST_CASE("EmitPlan: writes down board, options, spaces, ports and kernels") {
  const Opened plan(Emitted(kSlicedText));
  CHECK(std::string(plan->board()) == "board");
  CHECK(plan->board_fingerprint() == 0x1234567890ABCDEF);
  REQUIRE(plan->option_count() == 2);
  CHECK(std::string(plan->option_name(1)) == "fuse");
  CHECK(std::string(plan->option_value(1)) == "off");
  CHECK(std::string(plan->space_name(0)) == "sram");
  const ProgramView program = plan.program();
  REQUIRE(program.input_count() == 1);
  CHECK(std::string(program.input(0).name) == "data");
  CHECK(std::string(program.output(0).name) == "prob");
  REQUIRE(program.op_count() == 3);  // the slice is a window
  CHECK(std::string(program.op(0).name) == "first");
  CHECK(std::string(plan->kernel(program.op(0).kernel)) == "cpu.binary.portable");
  CHECK(plan->kernel_count() == 2);
  CHECK(program.step_count(0) == 3);
}

TEST_CASE("EmitPlan: equal constants are stored once, others each at a multiple of 64") {
  const Opened plan(Emitted(R"(graph g
input %x: f32[3]
const %c: f32[3] = [1, 2, 3]
const %same: f32[3] = [1, 2, 3]
const %other: f32[3] = [1, 2, 4]
%a = binary(%x, %c)
%b = binary(%a, %same)
%y = binary(%b, %other)
output %y
)"));
  REQUIRE(plan->section_count() == 1);
  CHECK(plan->section(0).bytes == 64 + 12);
  CHECK(plan->section(0).alignment == 128);
  CHECK(plan->section(0).file_offset % 128 == 0);
  float values[3];
  std::memcpy(values, plan->section_data(0) + 64, sizeof values);
  CHECK(values[2] == 4);
}

TEST_CASE("EmitPlan: constants that no op reads are left out") {
  const Opened plan(Emitted(R"(graph g
input %x: f32[2]
const %unread: f32[1000] = splat(1)
%y = unary(%x) {function=relu}
output %y
)"));
  CHECK(plan->section_count() == 0);
}

TEST_CASE("EmitPlan: a plan whose only constant is empty has a section for it") {
  const Opened plan(Emitted(R"(graph g
input %x: f32[0]
const %c: f32[0] = []
%y = binary(%x, %c)
output %y
)"));
  REQUIRE(plan->section_count() == 1);
  CHECK(plan->section(0).bytes == 0);
}

TEST_CASE("EmitPlan: windows share their root's storage, with offset, dims and strides") {
  const Opened plan(Emitted(kSlicedText));
  const ProgramView program = plan.program();
  const TensorInfo part = program.tensor(static_cast<size_t>(program.op(2).inputs[0]));
  const TensorInfo whole = program.tensor(static_cast<size_t>(program.op(1).outputs[0]));
  CHECK(std::string(part.name) == "s");
  CHECK(part.storage == whole.storage);
  CHECK(part.offset == 12);
  REQUIRE(part.dims.size() == 2);
  CHECK(part.dims[0] == 1);
  CHECK(part.strides[0] == 3);
}

TEST_CASE("EmitPlan: says which op works in place on what") {
  const Opened plan(Emitted(kSlicedText));
  const ProgramView program = plan.program();
  CHECK(program.op(0).in_place == 0);
  CHECK(program.op(1).in_place == 0);
  CHECK(program.op(2).in_place == -1);  // the slice is less than its storage
  const auto storage_of = [&](int32_t tensor) {
    return program.storage(program.tensor(static_cast<size_t>(tensor)).storage);
  };
  CHECK(storage_of(program.op(1).outputs[0]).offset == storage_of(program.op(1).inputs[0]).offset);
}

TEST_CASE("EmitPlan: a graph of one input and no ops is a plan") {
  const Opened plan(Emitted("graph g\ninput %x: f32[2]\n"));
  CHECK(plan.program().op_count() == 0);
  CHECK(plan.program().input_count() == 1);
}

}  // namespace
}  // namespace tenon::converter
