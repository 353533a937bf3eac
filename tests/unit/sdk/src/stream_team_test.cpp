// Streams of mode inter: threads that run the workers of a program by their waits.
#include <atomic>
#include <chrono>
#include <mutex>
#include <random>
#include <thread>

#include "tests/support/hooked_backend.hpp"
#include "tests/unit/sdk/src/stream_testing.hpp"

namespace tenon::test {
namespace {

using Clock = std::chrono::steady_clock;

/// Ops on small arrays for a hooked backend, each array at bytes of its own. Op number i is the
/// i-th added.
struct HookedProgram {
  PlanSpec spec;

  HookedProgram() {
    spec.kernels = {"cpu.unary.hooked"};
    spec.arenas[0].bytes = 1U << 16U;
  }
  uint32_t AddArray() { return spec.AddBuffer(64 * spec.storages.size(), 16); }
  uint32_t AddOp(uint32_t input, size_t worker, std::vector<WaitInfo> waits, size_t segment) {
    const uint32_t output = AddArray();
    const uint32_t op = spec.AddOp({input}, {output}, worker, std::move(waits), segment);
    UnaryAttributes attributes;
    attributes.a = static_cast<float>(op);
    std::memcpy(spec.ops[op].attributes.data(), &attributes, sizeof attributes);
    return output;
  }
};

/// Worker 0: op 0, op 1 in one segment. Worker 1: op 2 reads what op 0 writes.
HookedProgram Fork() {
  HookedProgram program;
  const uint32_t x = program.AddArray();
  const uint32_t first = program.AddOp(x, 0, {}, 0);
  const uint32_t second = program.AddOp(first, 0, {}, 0);
  const uint32_t beside = program.AddOp(first, 1, {{0, 0}}, 1);
  program.spec.inputs = {{"x", x}};
  program.spec.outputs = {{"second", second}, {"beside", beside}};
  return program;
}

void PlusOne(Span<const float> input, Span<float> output) {
  for (size_t i = 0; i < input.size(); ++i) output[i] = input[i] + 1;
}

std::vector<std::byte> Sixteen(float value) { return Floats(16, value); }

TEST_CASE("Teams: an op that is waited for lets others go on before its segment ends") {
  std::atomic<bool> beside_ran{false};
  HookedBackend backend([&](int op, Span<const float> input, Span<float> output) {
    if (op == 2) beside_ran = true;
    // Worker 0's second op ends only once worker 1 has run, in the middle of the segment.
    const auto end = Clock::now() + std::chrono::seconds(30);
    while (op == 1 && !beside_ran && Clock::now() < end) std::this_thread::yield();
    PlusOne(input, output);
    return op != 1 || beside_ran ? OkStatus() : Status(StatusCode::kBackendFailure, "waited long");
  });
  const LoadedForTest plan(Fork().spec.Write(), 1, backend.handle());
  const StreamForTest stream(plan.get(), OptionsOf(TENON_STREAM_INTER));
  for (float n = 0; n < 20; ++n) {
    beside_ran = false;
    Job job = JobFor(plan.get(), {Sixteen(n)});
    REQUIRE(Submit(stream, job) == TENON_OK);
    CHECK(Await(stream, job.ticket) == "");
    CHECK(job.outputs[0] == Sixteen(n + 2));
    CHECK(job.outputs[1] == Sixteen(n + 2));
  }
}

TEST_CASE("Teams: an op that fails ends the input with its error, and the next one runs") {
  for (const int bad : {0, 1, 2}) {
    CAPTURE(bad);
    int inputs = 0;
    HookedBackend backend([&](int op, Span<const float> input, Span<float> output) {
      if (op == 0) ++inputs;
      PlusOne(input, output);
      return op == bad && inputs % 3 == 0 ? Status(StatusCode::kBackendFailure, "too hot")
                                          : OkStatus();
    });
    const LoadedForTest plan(Fork().spec.Write(), 1, backend.handle());
    const StreamForTest stream(plan.get(), OptionsOf(TENON_STREAM_INTER));
    for (int n = 1; n <= 30; ++n) {
      Job job = JobFor(plan.get(), {Sixteen(static_cast<float>(n))});
      REQUIRE(Submit(stream, job) == TENON_OK);
      const std::string error = Await(stream, job.ticket);
      CHECK(error == (n % 3 == 0 ? "op" + std::to_string(bad) + ": too hot" : ""));
      if (n % 3 != 0) CHECK(job.outputs[1] == Sixteen(static_cast<float>(n + 2)));
    }
    CHECK(stream.Stats().failed == 10);
  }
}

TEST_CASE("Teams: of two workers that fail, the first by index is reported") {
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> failing{0};
    HookedBackend backend([&](int op, Span<const float>, Span<float>) {
      if (op == 0) return OkStatus();
      ++failing;  // both have begun before either ends
      const auto end = Clock::now() + std::chrono::seconds(30);
      while (failing < 2 && Clock::now() < end) std::this_thread::yield();
      return Status(StatusCode::kBackendFailure, "failed");
    });
    const LoadedForTest plan(Fork().spec.Write(), 1, backend.handle());
    const StreamForTest stream(plan.get(), OptionsOf(TENON_STREAM_INTER));
    Job job = JobFor(plan.get(), {Sixteen(0)});
    REQUIRE(Submit(stream, job) == TENON_OK);
    CHECK(Await(stream, job.ticket) == "op1: failed");
  }
}

/// Random steps on `workers` workers, each reading some earlier array. Waits only for the writer.
HookedProgram RandomSteps(uint64_t seed, size_t workers, size_t ops) {
  std::mt19937_64 random(seed);
  HookedProgram program;
  struct Written {
    uint32_t tensor;
    size_t worker;
    uint32_t step;
  };
  std::vector<Written> arrays;
  const uint32_t x = program.AddArray();
  std::vector<uint32_t> steps(workers, 0);
  for (size_t i = 0; i < ops; ++i) {
    const size_t worker = random() % workers;
    const size_t from = random() % (arrays.size() + 1);
    std::vector<WaitInfo> waits;
    uint32_t input = x;
    if (from < arrays.size()) {
      input = arrays[from].tensor;
      if (arrays[from].worker != worker) {
        waits.push_back({static_cast<uint16_t>(arrays[from].worker), arrays[from].step});
      }
    }
    const uint32_t output = program.AddOp(input, worker, waits, i);
    arrays.push_back({output, worker, steps[worker]++});
  }
  program.spec.inputs = {{"x", x}};
  program.spec.outputs = {{"last", arrays.back().tensor}};
  return program;
}

TEST_CASE("Teams: whatever the threads' speed, results are those of one thread") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    std::atomic<uint64_t> naps{0};
    HookedBackend backend([&](int op, Span<const float> input, Span<float> output) {
      const uint64_t nap = naps.fetch_add(0x9E3779B97F4A7C15U) >> 58U;
      if (nap < 8) std::this_thread::sleep_for(std::chrono::microseconds(10 * nap));
      for (size_t i = 0; i < input.size(); ++i) output[i] = 2 * input[i] + static_cast<float>(op);
      return OkStatus();
    });
    const HookedProgram program = RandomSteps(seed, 2 + seed % 4, 60);
    const LoadedForTest plan(program.spec.Write(), 1, backend.handle());
    const StreamForTest alone(plan.get());
    const StreamForTest team(plan.get(), OptionsOf(TENON_STREAM_INTER, 2));
    std::vector<Job> jobs[2];
    for (size_t mode = 0; mode < 2; ++mode) {
      for (int n = 0; n < 10; ++n) {
        jobs[mode].push_back(JobFor(plan.get(), {Sixteen(static_cast<float>(n) / 64)}));
      }
      for (Job& job : jobs[mode]) REQUIRE(Submit(mode == 0 ? alone : team, job) == TENON_OK);
      for (Job& job : jobs[mode]) CHECK(Await(mode == 0 ? alone : team, job.ticket) == "");
    }
    for (size_t n = 0; n < 10; ++n) CHECK(jobs[0][n].outputs == jobs[1][n].outputs);
  }
}

}  // namespace
}  // namespace tenon::test
