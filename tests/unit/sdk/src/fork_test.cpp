// What a forked process may do with its copies of plans, sessions and streams: nothing hangs.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "tests/unit/sdk/src/device_testing.hpp"
#include "tests/unit/sdk/src/stream_testing.hpp"

namespace tenon::test {
namespace {

/// What `body` returns in a forked process; 255 if it ended in another way. One that hangs is ended
/// after some seconds.
template <typename Body>
int InChild(const Body& body) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(30);
    _exit(body());
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

/// A large sum, so that all threads take part, and its outputs.
constexpr const char* kLargeSum = R"(graph sum
input %x: f32[64,4096]
%y = binary(%x, %x) "add"
output %y
)";

TEST_CASE("Forks: a plan's sessions run in the child, and closing them returns") {
  LoadedForTest plan(PlanOf(kLargeSum, /*portable=*/false), 3, tenon_backend_cpu());
  tenon_session* session = nullptr;
  REQUIRE(tenon_session_open(plan.get(), &session, nullptr) == TENON_OK);
  const auto sums = [&](float x) {
    auto* const input = static_cast<float*>(tenon_session_input(session, 0));
    for (size_t i = 0; i < 64 * 4096; ++i) input[i] = x;
    if (tenon_session_run(session, nullptr) != TENON_OK) return 2;
    const auto* const output = static_cast<const float*>(tenon_session_output(session, 0));
    for (size_t i = 0; i < 64 * 4096; ++i) {
      if (output[i] != 2 * x) return 1;
    }
    return 0;
  };
  CHECK(sums(1) == 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the threads sleep
  CHECK(InChild([&] {
          for (int run = 0; run < 5; ++run) {
            if (const int wrong = sums(static_cast<float>(run)); wrong != 0) return wrong;
          }
          tenon_session_close(session);
          tenon_plan_unload(plan.get());
          return 0;
        }) == 0);
  CHECK(sums(3) == 0);
  tenon_session_close(session);
}

TEST_CASE("Forks: a stream refuses every call in the child, and closing it returns") {
  const LoadedForTest plan(PlanOf(kSmallModel), 2, tenon_backend_cpu());
  const StreamForTest stream(plan.get());
  Job job = JobFor(plan.get(), std::vector(2, std::vector<std::byte>(128)));
  REQUIRE(Submit(stream, job) == TENON_OK);
  CHECK(Await(stream, job.ticket) == "");
  const void* inputs[] = {job.inputs[0].data(), job.inputs[1].data()};
  void* outputs[] = {job.outputs[0].data(), job.outputs[1].data()};
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // its thread sleeps
  CHECK(InChild([&] {
          int right = 0;
          tenon_error error{};
          uint64_t ticket = 0;
          const auto count = [&](tenon_status status) {
            right += status == TENON_FAILED_PRECONDITION ? 1 : 0;
          };
          count(tenon_stream_submit(stream.get(), inputs, outputs, kMinute, &ticket, &error));
          right += std::string(error.message).find("forked") != std::string::npos ? 1 : 0;
          count(tenon_stream_wait(stream.get(), 1, kMinute, &error));
          count(tenon_stream_run_batch(stream.get(), 1, inputs, outputs, &error));
          count(tenon_stream_reset(stream.get(), &error));
          tenon_stream_stats stats;
          count(tenon_stream_get_stats(stream.get(), &stats));
          tenon_stage_stats stage;
          count(tenon_stream_get_stage_stats(stream.get(), 0, 0, &stage));
          tenon_stream_close(stream.get());
          // A stream of the child's own works.
          tenon_stream* own = nullptr;
          if (tenon_stream_open(plan.get(), nullptr, &own, &error) != TENON_OK) return 100;
          if (tenon_stream_submit(own, inputs, outputs, kMinute, &ticket, &error) != TENON_OK ||
              tenon_stream_wait(own, ticket, kMinute, &error) != TENON_OK) {
            return 101;
          }
          tenon_stream_close(own);
          return right;
        }) == 7);
  REQUIRE(Submit(stream, job) == TENON_OK);
  CHECK(Await(stream, job.ticket) == "");
}

TEST_CASE("Forks: devices are the parent's; in the child the CPU stands in, or runs are refused") {
  DeviceGraph graph;
  graph.ops = {{{0}, 0, UnaryFunction::kExp}, {{1}, 1, UnaryFunction::kNeg}};
  graph.outputs = {2};
  for (const bool fallback : {false, true}) {
    CAPTURE(fallback);
    graph.fallback = fallback;
    ScriptedBackend device;
    const LoadedDevicePlan plan(graph, {device.handle()});
    DeviceSession session(plan);
    const auto run = [&](float x) -> int {
      auto* const input = static_cast<float*>(tenon_session_input(session.get(), 0));
      for (int i = 0; i < graph.elements; ++i) input[i] = x;
      const tenon_status status = tenon_session_run(session.get(), nullptr);
      if (status != TENON_OK) return status;
      const auto* output = static_cast<const float*>(tenon_session_output(session.get(), 0));
      return std::abs(output[0] + std::exp(x)) < 1e-5F ? 0 : 100;
    };
    CHECK(run(1) == 0);
    CHECK(InChild([&] {
            const int first = run(0.5F);
            const int second = run(0.25F);
            tenon_session_close(session.get());
            tenon_plan_unload(const_cast<tenon_plan*>(plan.get()));
            return first == second ? first : 200;
          }) == (fallback ? 0 : TENON_FAILED_PRECONDITION));
    CHECK(run(0.5F) == 0);
  }
}

}  // namespace
}  // namespace tenon::test
