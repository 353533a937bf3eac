// The C and the assembler source that `tenon convert --emit=c` makes, compiled for this machine and
// linked as firmware is: with the kernels that they name.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "as_assembler.h"
#include "as_c.h"

namespace {

struct Emitted {
  const uint8_t* plan;
  size_t bytes;
  const tenon_backends* backends;
};

/// What the model makes of a ramp, with these kernels.
std::vector<float> Scores(const Emitted& emitted, const tenon_backends* backends) {
  size_t state_bytes = 0;
  size_t scratch_bytes = 0;
  tenon_error error = {};
  REQUIRE(tenon_plan_state_size(emitted.plan, emitted.bytes, &state_bytes, &error) == TENON_OK);
  REQUIRE(tenon_plan_scratch_size(emitted.plan, emitted.bytes, &scratch_bytes, &error) == TENON_OK);
  std::vector<std::max_align_t> state(state_bytes / sizeof(std::max_align_t) + 1);
  std::vector<std::max_align_t> scratch(scratch_bytes / sizeof(std::max_align_t) + 1);
  tenon_plan* plan = nullptr;
  const tenon_status loaded =
      tenon_plan_load(emitted.plan, emitted.bytes, backends, 1, state.data(), state_bytes,
                      scratch.data(), scratch_bytes, &plan, &error);
  CHECK_MESSAGE(loaded == TENON_OK, std::string(error.message));
  REQUIRE(loaded == TENON_OK);
  tenon_session* session = nullptr;
  REQUIRE(tenon_session_open(plan, &session, &error) == TENON_OK);
  auto* input = static_cast<float*>(tenon_session_input(session, 0));
  for (int i = 0; i < AS_C_INPUT_0_ELEMENTS; ++i) input[i] = static_cast<float>(i % 16) / 16.0F;
  REQUIRE(tenon_session_run(session, &error) == TENON_OK);
  const auto* output = static_cast<const float*>(tenon_session_output(session, 0));
  std::vector<float> scores(output, output + AS_C_OUTPUT_0_ELEMENTS);
  tenon_session_close(session);
  tenon_plan_unload(plan);
  return scores;
}

constexpr Emitted kAsC = {as_c_plan, AS_C_PLAN_BYTES, &as_c_backends};
constexpr Emitted kAsAssembler = {as_assembler_plan, AS_ASSEMBLER_PLAN_BYTES,
                                  &as_assembler_backends};

TEST_CASE("Emitted source: C and assembler hold the same plan, aligned as they say") {
  REQUIRE(AS_C_PLAN_BYTES == AS_ASSEMBLER_PLAN_BYTES);
  CHECK(std::memcmp(as_c_plan, as_assembler_plan, AS_C_PLAN_BYTES) == 0);
  CHECK(reinterpret_cast<uintptr_t>(as_c_plan) % AS_C_PLAN_ALIGNMENT == 0);
  CHECK(reinterpret_cast<uintptr_t>(as_assembler_plan) % AS_ASSEMBLER_PLAN_ALIGNMENT == 0);
}

TEST_CASE("Emitted source: the plan runs with the kernels of its table, to the same bits") {
  const tenon_backend* portable = tenon_backend_cpu_portable();
  const tenon_backends all = {&portable, 1};
  const std::vector<float> expected = Scores(kAsC, &all);
  CHECK(Scores(kAsC, kAsC.backends) == expected);
  CHECK(Scores(kAsAssembler, kAsAssembler.backends) == expected);
  float sum = 0;
  for (const float score : expected) sum += score;
  CHECK(sum == doctest::Approx(1));
}

TEST_CASE("Emitted source: the header agrees with the plan") {
  size_t state_bytes = 0;
  REQUIRE(tenon_plan_state_size(as_c_plan, AS_C_PLAN_BYTES, &state_bytes, nullptr) == TENON_OK);
  std::vector<std::max_align_t> state(state_bytes / sizeof(std::max_align_t) + 1);
  std::vector<std::max_align_t> scratch(4096);
  tenon_plan* plan = nullptr;
  REQUIRE(tenon_plan_load(as_c_plan, AS_C_PLAN_BYTES, &as_c_backends, 1, state.data(), state_bytes,
                          scratch.data(), scratch.size() * sizeof scratch[0], &plan,
                          nullptr) == TENON_OK);
  tenon_port_info port;
  REQUIRE(tenon_plan_input(plan, 0, &port) == TENON_OK);
  CHECK(std::string(port.name) == AS_C_INPUT_0_NAME);
  CHECK(port.dtype == AS_C_INPUT_0_DTYPE);
  CHECK(port.bytes == AS_C_INPUT_0_BYTES);
  CHECK(port.bytes == AS_C_INPUT_0_ELEMENTS * sizeof(AS_C_INPUT_0_TYPE));
  tenon_arena_info arena;
  REQUIRE(tenon_plan_arena(plan, 0, &arena) == TENON_OK);
  CHECK(tenon_plan_arena_count(plan) == AS_C_ARENA_COUNT);
  CHECK(std::string(arena.space) == AS_C_ARENA_0_SPACE);
  CHECK(arena.bytes == AS_C_ARENA_0_BYTES);
  CHECK(arena.alignment == AS_C_ARENA_0_ALIGNMENT);
  tenon_plan_unload(plan);
}

}  // namespace
