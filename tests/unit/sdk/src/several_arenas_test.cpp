// Plans whose tensors lie in several memories of a chip: one arena each, which the caller places.
#include <cstring>

#include "runtime/ops/functions.hpp"
#include "tests/unit/runtime/format/plan_fixture.hpp"
#include "tests/unit/sdk/src/loaded_plan_testing.hpp"

namespace tenon::test {
namespace {

constexpr int32_t kElements = 16;
constexpr auto kRelu = static_cast<int32_t>(UnaryFunction::kRelu);

/// in (sram) -> a (psram) -> b (sram, over the input) -> out (psram): every op moves to the other.
PlanSpec TwoMemories() {
  PlanSpec spec;
  spec.kernels = {"cpu.unary.portable"};
  spec.spaces = {"sram", "psram"};
  spec.arenas = {{128, 16, 0, 1}, {192, 64, 1, 1}};
  const uint32_t in = spec.AddBuffer(0, kElements);
  const uint32_t a = spec.AddBuffer(64, kElements);
  const uint32_t b = spec.AddBuffer(64, kElements);
  const uint32_t out = spec.AddBuffer(128, kElements);
  spec.storages[1].index = 1;
  spec.storages[3].index = 1;
  spec.AddOp({in}, {a});
  spec.AddOp({a}, {b});
  spec.AddOp({b}, {out});
  for (OpSpec& op : spec.ops) op.attributes[0] = kRelu;
  spec.AddInput(in);
  spec.AddOutput(out);
  return spec;
}

TEST_CASE("Several memories: the plan says which arena each is, and what it needs") {
  const LoadedForTest plan(TwoMemories().Write());
  REQUIRE(tenon_plan_arena_count(plan.get()) == 2);
  tenon_arena_info sram;
  tenon_arena_info psram;
  REQUIRE(tenon_plan_arena(plan.get(), 0, &sram) == TENON_OK);
  REQUIRE(tenon_plan_arena(plan.get(), 1, &psram) == TENON_OK);
  CHECK(std::string(sram.space) == "sram");
  CHECK(sram.bytes == 128);
  CHECK(sram.alignment == 16);
  CHECK(std::string(psram.space) == "psram");
  CHECK(psram.bytes == 192);
  CHECK(psram.alignment == 64);
}

TEST_CASE(
    "Several memories: a run goes through all of them, and bound memory stands in for either") {
  const LoadedForTest plan(TwoMemories().Write());
  const SessionForTest session(plan);
  std::vector<float> input(kElements);
  for (int i = 0; i < kElements; ++i) input[static_cast<size_t>(i)] = static_cast<float>(i + 1);
  std::memcpy(tenon_session_input(session.get(), 0), input.data(), 64);
  REQUIRE(tenon_session_run(session.get(), nullptr) == TENON_OK);
  const auto* in_arena = static_cast<const float*>(tenon_session_output(session.get(), 0));
  const std::vector<float> first(in_arena, in_arena + kElements);
  CHECK(first == input);

  for (float& value : input) value *= 2;
  std::vector<float> output(kElements);
  REQUIRE(tenon_session_bind_input(session.get(), 0, input.data(), 64, nullptr) == TENON_OK);
  REQUIRE(tenon_session_bind_output(session.get(), 0, output.data(), 64, nullptr) == TENON_OK);
  REQUIRE(tenon_session_run(session.get(), nullptr) == TENON_OK);
  CHECK(output == input);
}

TEST_CASE("Several memories: each is checked, and no two may be the same") {
  const LoadedForTest plan(TwoMemories().Write());
  const ArenasForTest arenas(plan.get());
  const size_t bytes = tenon_session_state_size(plan.get());
  Memory state = MakeMemory(bytes);
  tenon_session* session = nullptr;
  tenon_error error{};
  const auto create = [&](const std::vector<tenon_memory>& given) {
    return tenon_session_create(plan.get(), state.data(), bytes, given.data(), given.size(),
                                &session, &error);
  };
  const tenon_memory sram = arenas.data()[0];
  const tenon_memory psram = arenas.data()[1];
  CHECK(create({sram}) == TENON_INVALID_ARGUMENT);
  CHECK(create({sram, {psram.data, 191}}) == TENON_OUT_OF_MEMORY);
  CHECK(create({sram, {static_cast<char*>(psram.data) + 16, 192}}) == TENON_INVALID_ARGUMENT);
  CHECK(create({{psram.data, 128}, psram}) == TENON_INVALID_ARGUMENT);
  CHECK(std::string(error.message).find("overlaps") != std::string::npos);
  CHECK(create({sram, psram}) == TENON_OK);
  tenon_session_destroy(session);
}

}  // namespace
}  // namespace tenon::test
