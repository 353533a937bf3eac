// What the check of firmware (TENON_FIRMWARE) refuses that other builds take. The other tests of
// the check are run in both configurations, as far as they are about one worker.
#include "runtime/base/config.hpp"
#include "runtime/format/plan_check_state.hpp"
#include "runtime/format/run_reader.hpp"
#include "tests/unit/runtime/format/plan_check_samples.hpp"

namespace tenon::test {
namespace {

constexpr char kRefusal[] =
    "workers, but a firmware runtime runs one: convert for a board of one core";

TEST_CASE("Firmware: a violation counts though nobody listens, and so does the next one") {
  const ViolationSink nobody;
  plan_check::Reporter reporter(nobody);
  reporter.Report(Status(StatusCode::kCorruptPlan, "first"));
  reporter.Report(Status(StatusCode::kCorruptPlan, "second"));
  CHECK(reporter.count() == 2);
}

TEST_CASE("Firmware: after a section in no space, indices are looked at before they are followed") {
  PlanSpec spec = WithConstant();
  spec.sections[0].space = 1;
  CHECK(Says(spec, "section in no memory space"));
  // More levels of strides than the later parts have room for.
  spec.tensors[1].dims.assign(200, 2);
  spec.tensors[1].strides.assign(200, 1);
  CHECK(Says(spec, "section in no memory space"));
}

TEST_CASE("Firmware: several workers are refused, and so none") {
  static_assert(!kHasDevices && !kHasWorkers);
  CHECK(Says(ForkAndJoin(), kRefusal));
  CHECK(Says(WithDevice(), kRefusal));
  CHECK(Says(WithFallback(), kRefusal));
  CHECK(Says(Pipeline(), kRefusal));
  PlanSpec spec = Chain();
  spec.workers.clear();
  CHECK(Says(spec, kRefusal));
}

TEST_CASE("Firmware: every op runs, so that conditions are not looked at") {
  PlanSpec spec = Branch();
  CHECK(Check(spec) == "");
  spec.ops[0].condition = {1000, true};
  CHECK(Check(spec) == "");
}

TEST_CASE("Firmware: arenas with several slots are refused") {
  PlanSpec spec = Chain();
  spec.arenas[0].slots = 2;
  CHECK(Says(spec, "arena 0: memory space, size, alignment or slots"));
}

TEST_CASE(
    "Firmware: parts of thousands of rows side by side are looked at row by row, not by square") {
  PlanSpec spec;
  constexpr int32_t kRows = 20000;
  spec.arenas[0].bytes = 1 << 20;
  const uint32_t joined = spec.AddStorage(0, uint64_t{kRows} * 8);
  const uint32_t left = spec.AddTensor(joined, {kRows, 4}, 0, {8, 1}, DType::kU8);
  const uint32_t right = spec.AddTensor(joined, {kRows, 4}, 4, {8, 1}, DType::kU8);
  const uint32_t some = spec.AddTensor(joined, {kRows / 2, 3}, 2, {16, 1}, DType::kU8);
  const uint32_t out = spec.AddTensor(spec.AddStorage(400000, 16), {16}, 0, {}, DType::kU8);
  spec.AddOp({}, {left});
  spec.AddOp({}, {right});
  spec.AddOp({some}, {out});
  CHECK(Check(spec) == "");
  spec.tensors[left].dims[1] = 3;
  CHECK(Says(spec, "op2: reads tensor 2 before all of it is written"));
}

TEST_CASE("Firmware: sizes that 32 bits do not hold are refused, not cut") {
  PlanSpec spec = Chain();
  spec.storages[1].offset += uint64_t{1} << 32;
  CHECK(Says(spec, "storage 1 reaches over the end"));
  spec = Chain();
  spec.storages[1].bytes += uint64_t{1} << 32;
  CHECK(Says(spec, "storage 1 reaches over the end"));
  spec = Chain();
  spec.tensors[1].offset += uint64_t{1} << 32;
  CHECK(Says(spec, "tensor 1 reaches over the end"));
  spec = Chain();
  spec.arenas[0].bytes += uint64_t{1} << 32;
  CHECK(Says(spec, "arena 0: memory space, size"));
}

TEST_CASE("Firmware: more ops or storages than its numbers count are refused") {
  PlanSpec spec = Chain();
  for (int i = 0; i < 65540; ++i) spec.AddStorage(0, 0);
  CHECK(Says(spec, "program too large for this build"));
  spec = Chain();
  spec.ops[1].inputs.assign(65540, spec.ops[1].inputs[0]);
  CHECK(Says(spec, "program too large for this build"));
}

TEST_CASE("Firmware: more comparisons than the budget allows are refused, not done") {
  PlanSpec spec;
  spec.arenas[0].bytes = 1 << 20;
  const uint32_t storage = spec.AddStorage(0, 6000);
  for (uint64_t i = 0; i < 6000; ++i) {
    spec.AddOp({}, {spec.AddTensor(storage, {1}, i, {1}, DType::kU8)});
  }
  CHECK(Says(spec, "too many strided parts"));
}

TEST_CASE("Firmware: the budget is enough for as many storages as plans of tiles have") {
  constexpr uint64_t kMost = 3830;  // 7 << 20 pairs: converter/driver/chain_cutter.cpp
  PlanSpec spec;
  spec.arenas[0].bytes = 128;
  uint32_t last = 0;
  for (uint64_t i = 0; i < kMost; ++i) {  // every second one on the same bytes
    const uint32_t storage = spec.AddStorage(i % 2 * 64, 64);
    const uint32_t tensor = spec.AddTensor(storage, {64}, 0, {1}, DType::kU8);
    spec.AddOp(i == 0 ? std::vector<uint32_t>() : std::vector<uint32_t>{last}, {tensor});
    last = tensor;
  }
  CHECK(Check(spec) == "");
}

TEST_CASE("Firmware: scratch is a few bytes per op and storage") {
  const auto file = Chain().Write();
  const auto view = PlanView::Open(Span<const uint8_t>(file.data(), file.size()));
  REQUIRE(view.ok());
  CHECK(PlanCheckScratchBytes(*view) <= 128);
}

TEST_CASE("Firmware: scratch has room for the operands of any op") {
  PlanSpec spec = Chain();
  constexpr size_t kOperands = 200;
  spec.ops[1].inputs.assign(kOperands, spec.ops[1].inputs[0]);
  const auto file = spec.Write();
  const auto view = PlanView::Open(Span<const uint8_t>(file.data(), file.size()));
  REQUIRE(view.ok());
  CHECK(PlanCheckScratchBytes(*view) >= kOperands * kOperandRoomBytes);
}

TEST_CASE("Firmware: an op that reads what it writes itself is refused") {
  PlanSpec spec = Chain();
  spec.ops[0].inputs = spec.ops[0].outputs;
  CHECK(Says(spec, "op0: reads tensor 1 before all of it is written"));
}

TEST_CASE("Firmware: storages at one offset of two arenas do not take turns") {
  PlanSpec spec = Chain();
  spec.arenas.push_back(spec.arenas[0]);
  spec.storages[1].index = 1;
  spec.storages[1].offset = spec.storages[0].offset;
  CHECK(Check(spec) == "");
}

}  // namespace
}  // namespace tenon::test
