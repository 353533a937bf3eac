// What a run of one worker reads of an op is what the plan says of it.
#include "runtime/format/run_reader.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

#include "tests/unit/runtime/format/plan_fixture.hpp"

namespace tenon::test {
namespace {

/// One op on a constant, nothing, a strided part of a buffer in the second arena; with a workspace.
PlanSpec SomeOperands() {
  PlanSpec spec;
  spec.arenas = {{}, {}};
  spec.sections = {{std::vector<uint8_t>(64, 1)}, {std::vector<uint8_t>(256, 2)}};
  const uint32_t in = spec.AddBuffer(128, 32);
  spec.storages[0].index = 1;
  const uint32_t part = spec.AddTensor(0, {2, 3}, 8, {4, 1});
  spec.storages.push_back({64, 128, /*constant=*/true, /*index=*/1});
  const uint32_t constant = spec.AddTensor(1, {128}, 0, {}, DType::kI8);
  const uint32_t out = spec.AddBuffer(192, 6);
  const uint32_t scratch = spec.AddTensor(spec.AddStorage(512, 48), {4, 12}, 0, {}, DType::kU8);
  spec.AddOp({constant, constant, part}, {out});
  spec.ops[0].inputs[1] = -1;
  spec.ops[0].workspace = static_cast<int32_t>(scratch);
  spec.AddOp({in}, {out});
  spec.ops[1].attributes.clear();
  return spec;
}

/// A plan, memory for it, and its reader.
struct Reading {
  explicit Reading(const PlanSpec& spec) : file(spec.Write()) {
    const auto opened = PlanView::Open({file.data(), file.size()});
    REQUIRE(opened.ok());
    view = *opened;
    for (size_t i = 0; i < view.section_count(); ++i) {
      sections.push_back(const_cast<uint8_t*>(view.section_data(i)));
    }
    for (auto& arena : memory) arenas.push_back(arena.data());
    reader.program = view.program(0);
    reader.memory = {{arenas.data(), sections.data()}, {}};
    reader.room = {views, ids};
    reader.Open();
  }

  std::vector<uint8_t> file;
  PlanView view;
  std::vector<uint8_t> memory[2] = {std::vector<uint8_t>(4096), std::vector<uint8_t>(4096)};
  std::vector<uint8_t*> arenas;
  std::vector<uint8_t*> sections;
  TensorView views[8];
  int32_t ids[8];
  RunReader reader;
  OpCall call;
};

TEST_CASE("RunReader: operands lie where the plan says, with their shapes") {
  Reading plan(SomeOperands());
  const Span<uint8_t> workspace = plan.reader.Read(0, &plan.call);
  CHECK(workspace.data() == plan.arenas[0] + 512);
  CHECK(workspace.size() == 48);
  CHECK(plan.call.InputCount() == 3);
  CHECK(plan.call.HasInput(0));
  CHECK_FALSE(plan.call.HasInput(1));
  CHECK(plan.call.Input(0).data == plan.sections[1] + 64);
  CHECK(plan.call.Input(0).dtype == DType::kI8);
  const TensorView& part = plan.call.Input(2);
  CHECK(part.data == plan.arenas[1] + 128 + 8);
  CHECK(part.dtype == DType::kF32);
  REQUIRE(part.rank == 2);
  CHECK(part.dims[0] == 2);
  CHECK(part.dims[1] == 3);
  CHECK(part.strides[0] == 4);
  CHECK(part.strides[1] == 1);
  CHECK(plan.call.Output().data == plan.arenas[0] + 192);
  CHECK(plan.call.attributes == plan.view.program(0).op(0).attributes.data());
}

TEST_CASE("RunReader: the next op's operands take the place of the last one's") {
  Reading plan(SomeOperands());
  (void)plan.reader.Read(0, &plan.call);
  CHECK(plan.reader.Read(1, &plan.call).empty());
  CHECK(plan.call.InputCount() == 1);
  CHECK(plan.call.Input(0).data == plan.arenas[1] + 128);
  CHECK(plan.call.Output().data == plan.arenas[0] + 192);
}

TEST_CASE("RunReader: what is bound is elsewhere, with all tensors of its storage") {
  Reading plan(SomeOperands());
  uint8_t bound[128];
  BoundStorage storages[2] = {{nullptr, 2}, {bound, 0}};
  plan.reader.memory.bound = storages;
  (void)plan.reader.Read(0, &plan.call);
  CHECK(plan.call.Input(2).data == bound + 8);
  CHECK(plan.call.Output().data == plan.arenas[0] + 192);  // named, but not bound
  CHECK(plan.reader.PlaceOf(0) == bound);
  storages[1].data = nullptr;
  (void)plan.reader.Read(1, &plan.call);
  CHECK(plan.call.Input(0).data == plan.arenas[1] + 128);
}

TEST_CASE("RunReader: without arenas only constants have data") {
  Reading plan(SomeOperands());
  plan.reader.memory.homes[0] = nullptr;
  const Span<uint8_t> workspace = plan.reader.Read(0, &plan.call);
  CHECK(workspace.data() == nullptr);
  CHECK(workspace.size() == 48);
  CHECK(plan.call.Input(0).data == plan.sections[1] + 64);
  CHECK(plan.call.Input(2).data == nullptr);
  CHECK(plan.call.Output().data == nullptr);
}

}  // namespace
}  // namespace tenon::test
