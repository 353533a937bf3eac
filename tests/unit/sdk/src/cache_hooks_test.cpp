// When caches are kept in step with another bus master, and for which memory.
#include <algorithm>
#include <cstring>

#include "tests/unit/sdk/src/plan_of_testing.hpp"

namespace tenon::test {
namespace {

constexpr size_t kLine = 32;

/// A call of a hook.
struct Event {
  char what;  // 'i'nvalidate, 'c'lean
  const void* address;
  size_t bytes;
  friend bool operator==(const Event& a, const Event& b) {
    return a.what == b.what && a.address == b.address && a.bytes == b.bytes;
  }
};

struct Recorder {
  std::vector<Event> events;
  /// Ops that had run when the first `clean` came.
  size_t ops = 0;
  size_t ops_at_invalidate = SIZE_MAX;
  size_t ops_at_clean = SIZE_MAX;

  tenon_cache_hooks Hooks(uint32_t inputs, uint32_t outputs) {
    tenon_cache_hooks hooks{};
    hooks.clean = [](void* context, void* address, size_t bytes) {
      auto& to = *static_cast<Recorder*>(context);
      to.events.push_back({'c', address, bytes});
      to.ops_at_clean = std::min(to.ops_at_clean, to.ops);
    };
    hooks.invalidate = [](void* context, void* address, size_t bytes) {
      auto& to = *static_cast<Recorder*>(context);
      to.events.push_back({'i', address, bytes});
      to.ops_at_invalidate = std::min(to.ops_at_invalidate, to.ops);
    };
    hooks.context = this;
    hooks.line_bytes = kLine;
    hooks.inputs = inputs;
    hooks.outputs = outputs;
    return hooks;
  }
};

struct alignas(kLine) Lines {
  float data[64];
};

TEST_CASE("Cache hooks: marked inputs before the first op, marked ports after the last") {
  const LoadedForTest plan(PlanOf(kSmallModel));
  const SessionForTest session(plan);
  Recorder recorder;
  const tenon_cache_hooks hooks = recorder.Hooks(/*inputs=*/2, /*outputs=*/1);
  REQUIRE(tenon_session_set_cache_hooks(session.get(), &hooks, nullptr) == TENON_OK);
  Lines input{};
  Lines output{};
  REQUIRE(tenon_session_bind_input(session.get(), 1, &input, 128, nullptr) == TENON_OK);
  REQUIRE(tenon_session_bind_output(session.get(), 0, &output, 256, nullptr) == TENON_OK);
  tenon_trace trace{};
  trace.context = &recorder;
  trace.record = [](void* context, size_t, uint64_t) { ++static_cast<Recorder*>(context)->ops; };
  trace.clock_nanoseconds = [](void*) { return uint64_t{0}; };
  REQUIRE(tenon_session_run_traced(session.get(), &trace, nullptr) == TENON_OK);
  CHECK(recorder.ops == tenon_plan_op_count(plan.get()));
  CHECK(recorder.ops_at_invalidate == 0);
  CHECK(recorder.ops_at_clean == recorder.ops);
  const std::vector<Event> wanted = {{'i', &input, 128}, {'c', &input, 128}, {'c', &output, 256}};
  CHECK(recorder.events == wanted);
}

TEST_CASE("Cache hooks: without them, or taken back, nothing is called") {
  const LoadedForTest plan(PlanOf(kSmallModel));
  const SessionForTest session(plan);
  Recorder recorder;
  const tenon_cache_hooks hooks = recorder.Hooks(0, 0);
  REQUIRE(tenon_session_set_cache_hooks(session.get(), &hooks, nullptr) == TENON_OK);
  CHECK(tenon_session_run(session.get(), nullptr) == TENON_OK);
  const tenon_cache_hooks all = recorder.Hooks(~0U, ~0U);
  REQUIRE(tenon_session_set_cache_hooks(session.get(), &all, nullptr) == TENON_OK);
  REQUIRE(tenon_session_set_cache_hooks(session.get(), nullptr, nullptr) == TENON_OK);
  CHECK(tenon_session_run(session.get(), nullptr) == TENON_OK);
  CHECK(recorder.events.empty());
}

TEST_CASE("Cache hooks: a port that shares a line with others is refused until it is bound apart") {
  const LoadedForTest plan(PlanOf(kSmallModel));
  const SessionForTest session(plan);
  Recorder recorder;
  const tenon_cache_hooks hooks = recorder.Hooks(0, /*outputs=*/2);  // "means", 16 bytes
  tenon_error error{};
  REQUIRE(tenon_session_set_cache_hooks(session.get(), &hooks, &error) == TENON_OK);
  CHECK(tenon_session_run(session.get(), &error) == TENON_FAILED_PRECONDITION);
  CHECK(std::string(error.message).find("'means' shares cache lines") != std::string::npos);
  Lines lines{};
  REQUIRE(tenon_session_bind_output(session.get(), 1, lines.data + 4, 16, &error) == TENON_OK);
  CHECK(tenon_session_run(session.get(), &error) == TENON_FAILED_PRECONDITION);
  CHECK(recorder.events.empty());
  REQUIRE(tenon_session_bind_output(session.get(), 1, lines.data, 16, &error) == TENON_OK);
  CHECK(tenon_session_run(session.get(), &error) == TENON_OK);
  CHECK(recorder.events.size() == 1);
}

TEST_CASE("Cache hooks: ports in the arena are told of where they lie there") {
  const LoadedForTest plan(PlanOf(kSmallModel));
  const SessionForTest session(plan);
  Recorder recorder;
  const tenon_cache_hooks hooks = recorder.Hooks(/*inputs=*/1, 0);
  REQUIRE(tenon_session_set_cache_hooks(session.get(), &hooks, nullptr) == TENON_OK);
  REQUIRE(tenon_session_run(session.get(), nullptr) == TENON_OK);
  const void* input = tenon_session_input(session.get(), 0);
  const std::vector<Event> wanted = {{'i', input, 128}, {'c', input, 128}};
  CHECK(recorder.events == wanted);
}

TEST_CASE("Cache hooks: hooks that are not whole are refused, and those of before stay") {
  const LoadedForTest plan(PlanOf(kSmallModel));
  const SessionForTest session(plan);
  Recorder recorder;
  const tenon_cache_hooks good = recorder.Hooks(1, 0);
  REQUIRE(tenon_session_set_cache_hooks(session.get(), &good, nullptr) == TENON_OK);
  tenon_cache_hooks no_clean = good;
  no_clean.clean = nullptr;
  tenon_cache_hooks no_invalidate = good;
  no_invalidate.invalidate = nullptr;
  tenon_cache_hooks no_line = good;
  no_line.line_bytes = 0;
  tenon_cache_hooks odd_line = good;
  odd_line.line_bytes = 48;
  for (const tenon_cache_hooks& hooks : {no_clean, no_invalidate, no_line, odd_line}) {
    CHECK(tenon_session_set_cache_hooks(session.get(), &hooks, nullptr) == TENON_INVALID_ARGUMENT);
  }
  CHECK(tenon_session_set_cache_hooks(nullptr, &good, nullptr) == TENON_INVALID_ARGUMENT);
  REQUIRE(tenon_session_run(session.get(), nullptr) == TENON_OK);
  CHECK(recorder.events.size() == 2);
}

}  // namespace
}  // namespace tenon::test
