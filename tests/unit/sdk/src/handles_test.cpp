// Calls in the wrong order, on what is over, or on memory used twice give a status, never a fault.
#include <cstring>

#include "tests/unit/sdk/src/plan_of_testing.hpp"

namespace tenon::test {
namespace {

bool Says(const tenon_error& error, std::string_view words) {
  return std::string_view(error.message).find(words) != std::string_view::npos;
}

/// A plan in state memory that a test may load into again.
struct Reloadable {
  Reloadable() : file(PlanOf(kSmallModel)) {
    REQUIRE(tenon_plan_scratch_size(file.data(), file.size(), &scratch_size, nullptr) == TENON_OK);
    REQUIRE(tenon_plan_state_size(file.data(), file.size(), &state_size, nullptr) == TENON_OK);
    scratch = MakeMemory(scratch_size);
    state = MakeMemory(state_size);
  }
  ~Reloadable() { tenon_plan_unload(plan); }
  Reloadable(const Reloadable&) = delete;
  Reloadable& operator=(const Reloadable&) = delete;

  tenon_status Load(void* given_scratch = nullptr, size_t given_size = 0) {
    const tenon_backend* backend = tenon_backend_cpu_portable();
    const tenon_backends backends{&backend, 1};
    if (given_scratch == nullptr) {
      given_scratch = scratch.data();
      given_size = scratch_size;
    }
    return tenon_plan_load(file.data(), file.size(), &backends, 1, state.data(), state_size,
                           given_scratch, given_size, &plan, &error);
  }

  PlanBytes file;
  size_t scratch_size = 0;
  size_t state_size = 0;
  Memory scratch;
  Memory state;
  tenon_plan* plan = nullptr;
  tenon_error error{};
};

/// That no function of a session that is over does anything.
void CheckOver(tenon_session* session, std::string_view words) {
  tenon_error error{};
  float data[64] = {};
  CHECK(tenon_session_run(session, &error) == TENON_FAILED_PRECONDITION);
  CHECK_MESSAGE(Says(error, words), error.message);
  CHECK(tenon_session_bind_input(session, 0, data, 128, &error) == TENON_FAILED_PRECONDITION);
  CHECK(tenon_session_bind_output(session, 0, data, 256, &error) == TENON_FAILED_PRECONDITION);
  CHECK(tenon_session_input(session, 0) == nullptr);
  CHECK(tenon_session_output(session, 0) == nullptr);
  CHECK(tenon_session_set_cache_hooks(session, nullptr, &error) == TENON_FAILED_PRECONDITION);
  tenon_session_destroy(session);
}

TEST_CASE("Handles: a session that was destroyed is over, and may be destroyed again") {
  const LoadedForTest plan(PlanOf(kSmallModel));
  const SessionForTest session(plan);
  REQUIRE(tenon_session_run(session.get(), nullptr) == TENON_OK);
  tenon_session_destroy(session.get());
  CheckOver(session.get(), "not open");
}

TEST_CASE("Handles: memory that holds no session or plan, or starts in its middle, is none") {
  Memory memory = MakeMemory(4096);
  std::memset(static_cast<void*>(memory.data()), 0, 4096);
  CheckOver(reinterpret_cast<tenon_session*>(memory.data()), "not open");
  std::memset(static_cast<void*>(memory.data()), 0xA5, 4096);
  CheckOver(reinterpret_cast<tenon_session*>(memory.data()), "not open");
  const LoadedForTest plan(PlanOf(kSmallModel));
  const SessionForTest session(plan);
  CheckOver(reinterpret_cast<tenon_session*>(reinterpret_cast<char*>(session.get()) + 1),
            "not open");
  const auto* no_plan = reinterpret_cast<const tenon_plan*>(memory.data());
  CHECK(tenon_plan_input_count(no_plan) == 0);
  CHECK(tenon_session_state_size(no_plan) == 0);
  tenon_error error{};
  CHECK(tenon_plan_verify(no_plan, &error) == TENON_FAILED_PRECONDITION);
  CHECK(tenon_plan_verify(nullptr, &error) == TENON_INVALID_ARGUMENT);
}

TEST_CASE("Handles: a session needs a plan that is loaded") {
  Reloadable plan;
  REQUIRE(plan.Load() == TENON_OK);
  const ArenasForTest arenas(plan.plan);
  const size_t bytes = tenon_session_state_size(plan.plan);
  Memory state = MakeMemory(bytes);
  tenon_plan_unload(plan.plan);
  tenon_session* session = nullptr;
  CHECK(tenon_session_create(plan.plan, state.data(), bytes, arenas.data(), arenas.size(), &session,
                             &plan.error) == TENON_FAILED_PRECONDITION);
  CHECK(session == nullptr);
  CHECK(Says(plan.error, "not loaded"));
}

TEST_CASE("Handles: sessions of a plan that was unloaded are over, and so is the plan") {
  Reloadable plan;
  REQUIRE(plan.Load() == TENON_OK);
  const SessionForTest session(plan.plan);
  tenon_plan_unload(plan.plan);
  tenon_plan_unload(plan.plan);
  CHECK(tenon_plan_output_count(plan.plan) == 0);
  CHECK(tenon_plan_state_bytes(plan.plan) == 0);
  CheckOver(session.get(), "unloaded");
}

TEST_CASE(
    "Handles: loading into the same memory again ends the sessions of before, not later ones") {
  Reloadable plan;
  REQUIRE(plan.Load() == TENON_OK);
  const SessionForTest before(plan.plan);
#ifndef TENON_FIRMWARE
  tenon_plan_unload(plan.plan);  // or a host's heap would keep what kernels packed
#endif
  REQUIRE(plan.Load() == TENON_OK);
  const SessionForTest after(plan.plan);
  CHECK(tenon_session_run(after.get(), nullptr) == TENON_OK);
  CheckOver(before.get(), "loaded again");
  CHECK(tenon_session_run(after.get(), nullptr) == TENON_OK);
}

TEST_CASE("Handles: a load that fails leaves no plan, and its memory can be used again") {
  Reloadable plan;
  auto* bytes = static_cast<uint8_t*>(plan.file.data());
  bytes[plan.file.size() / 2] ^= 1;
  CHECK(plan.Load() == TENON_CORRUPT_PLAN);
  CHECK(plan.plan == nullptr);
  CHECK(tenon_plan_op_count(reinterpret_cast<const tenon_plan*>(plan.state.data())) == 0);
  bytes[plan.file.size() / 2] ^= 1;
  CHECK(plan.Load() == TENON_OK);
}

TEST_CASE("tenon_plan_verify: sees that bytes of the plan have changed") {
  Reloadable plan;
  REQUIRE(plan.Load() == TENON_OK);
  CHECK(tenon_plan_verify(plan.plan, &plan.error) == TENON_OK);
  auto* bytes = static_cast<uint8_t*>(plan.file.data());
  for (size_t at = 8; at < plan.file.size(); at += 97) {
    const uint8_t kept = bytes[at];
    bytes[at] = static_cast<uint8_t>(kept ^ 0x10);
    const tenon_status status = tenon_plan_verify(plan.plan, &plan.error);
    bytes[at] = kept;
    // What lies between header and sections is filling.
    if (status == TENON_OK) CHECK(kept == 0);
    if (status != TENON_OK)
      CHECK((status == TENON_CORRUPT_PLAN || status == TENON_UNSUPPORTED_VERSION));
  }
  CHECK(tenon_plan_verify(plan.plan, &plan.error) == TENON_OK);
}

TEST_CASE("tenon_plan_load: plan, state and scratch must not overlap") {
  Reloadable plan;
  const auto check = [&](void* scratch) {
    CHECK(plan.Load(scratch, plan.scratch_size) == TENON_INVALID_ARGUMENT);
    CHECK_MESSAGE(Says(plan.error, "overlap"), plan.error.message);
  };
  check(plan.state.data());
  check(plan.file.data());
}

TEST_CASE("tenon_plan_load: scratch may become arenas and session states") {
  Reloadable plan;
  REQUIRE(plan.Load() == TENON_OK);
  tenon_arena_info info;
  REQUIRE(tenon_plan_arena_count(plan.plan) == 1);
  REQUIRE(tenon_plan_arena(plan.plan, 0, &info) == TENON_OK);
  const size_t state_bytes = (tenon_session_state_size(plan.plan) + 15) / 16 * 16;
  const std::vector<float> ones(64, 1.0F);
  const auto run = [&](tenon_session* session) {
    for (size_t i = 0; i < 2; ++i) std::memcpy(tenon_session_input(session, i), ones.data(), 128);
    REQUIRE(tenon_session_run(session, nullptr) == TENON_OK);
    const auto* features = static_cast<const float*>(tenon_session_output(session, 0));
    return std::vector<float>(features, features + 64);
  };
  const SessionForTest apart(plan.plan);
  const std::vector<float> expected = run(apart.get());

  Memory memory = MakeMemory(plan.scratch_size + state_bytes + info.bytes + info.alignment);
  std::memset(static_cast<void*>(memory.data()), 0xA5, plan.scratch_size);
  tenon_plan_unload(plan.plan);
  REQUIRE(plan.Load(memory.data(), plan.scratch_size) == TENON_OK);
  auto* at = reinterpret_cast<uint8_t*>(memory.data());
  const auto end = reinterpret_cast<uintptr_t>(at) + state_bytes;
  const tenon_memory arena{
      at + state_bytes + (info.alignment - end % info.alignment) % info.alignment, info.bytes};
  tenon_session* session = nullptr;
  REQUIRE(tenon_session_create(plan.plan, at, state_bytes, &arena, 1, &session, &plan.error) ==
          TENON_OK);
  CHECK(run(session) == expected);
  tenon_session_destroy(session);
}

}  // namespace
}  // namespace tenon::test
