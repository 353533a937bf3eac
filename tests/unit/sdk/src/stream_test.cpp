// Streams of tenon.h: replicas and teams; what streams compute, hold and refuse.
#include <atomic>
#include <thread>

#include "tenon/tenon.hpp"
#include "tests/unit/sdk/src/dealt_program.hpp"
#include "tests/unit/sdk/src/stream_testing.hpp"

namespace tenon::test {
namespace {

TEST_CASE("Replicas and teams: a random graph's values do not depend on who runs what when") {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    const Graph graph = RandomGraph(seed);
    const DealtProgram program = MakeProgram(RandomGraph(seed), 1 + seed % 4, 1 + seed % 3);
    const LoadedForTest plan(program.Plan());
    const bool is_team = program.schedule.workers.size() > 1;
    const StreamForTest stream(
        plan.get(), OptionsOf(is_team ? TENON_STREAM_INTER : TENON_STREAM_SEQUENTIAL, 2));
    std::vector<Job> jobs;
    for (uint64_t n = 0; n < 8; ++n) {
      jobs.push_back(JobFor(plan.get(), RandomInputs(graph, 100 * seed + n)));
    }
    for (Job& job : jobs) REQUIRE(Submit(stream, job) == TENON_OK);
    for (const Job& job : jobs) {
      CHECK(Await(stream, job.ticket) == "");
      const Evaluation expected = EvaluateGraph(graph, job.inputs);
      REQUIRE_MESSAGE(expected.error.empty(), expected.error);
      for (size_t i = 0; i < graph.outputs().size(); ++i) {
        CHECK(job.outputs[i] == expected.values.at(graph.outputs()[i].tensor));
      }
    }
  }
}

TEST_CASE("Teams: a thread per worker, for every replica") {
  const LoadedForTest plan(SmallProgram(3, 2).Plan());
  const StreamForTest stream(plan.get(), OptionsOf(TENON_STREAM_INTER, 2));
  CHECK(stream.Stats().threads == 6);
  CHECK(stream.Stats().stages == 1);
}

TEST_CASE("Streams: a trace hears of every op of every input, whoever runs it") {
  const LoadedForTest plan(SmallProgram(3, 2).Plan());
  for (const tenon_stream_mode mode : {TENON_STREAM_SEQUENTIAL, TENON_STREAM_INTER}) {
    CAPTURE(mode);
    std::vector<std::atomic<int>> heard(tenon_plan_op_count(plan.get()));
    tenon_trace trace{};
    trace.context = &heard;
    trace.record = [](void* context, size_t op, uint64_t) {
      ++static_cast<std::vector<std::atomic<int>>*>(context)->at(op);
    };
    trace.clock_nanoseconds = [](void*) { return uint64_t{0}; };
    tenon_stream_options options = OptionsOf(mode, 2);
    options.trace = &trace;
    const StreamForTest stream(plan.get(), options);
    const std::vector<std::vector<std::byte>> inputs(tenon_plan_input_count(plan.get()),
                                                     std::vector<std::byte>(4096));
    std::vector<Job> jobs;
    for (int n = 0; n < 5; ++n) jobs.push_back(JobFor(plan.get(), inputs));
    for (Job& job : jobs) REQUIRE(Submit(stream, job) == TENON_OK);
    for (const Job& job : jobs) CHECK(Await(stream, job.ticket) == "");
    for (const std::atomic<int>& times : heard) CHECK(times == 5);
  }
}

TEST_CASE("Streams: a trace without one of its functions is refused") {
  const LoadedForTest plan(PlanOf(kSmallModel));
  const tenon_trace trace{};
  tenon_stream_options options = OptionsOf(TENON_STREAM_SEQUENTIAL);
  options.trace = &trace;
  CHECK(OpenError(plan.get(), options) == "a trace needs both of its functions");
}

TEST_CASE("Streams: a mode that the plan's program has not is refused with what to do") {
  const LoadedForTest single(PlanOf(kSmallModel));
  CHECK(OpenError(single.get(), OptionsOf(TENON_STREAM_PIPELINE)).find("--parallel=pipeline") !=
        std::string::npos);
  CHECK(OpenError(single.get(), OptionsOf(TENON_STREAM_INTER)).find("--parallel=inter") !=
        std::string::npos);
  CHECK(OpenError(single.get(), OptionsOf(static_cast<tenon_stream_mode>(4)))
            .find("no stream mode 4") != std::string::npos);
  CHECK(OpenError(single.get(), OptionsOf(TENON_STREAM_SEQUENTIAL, 5000)).find("5000 replicas") !=
        std::string::npos);
}

TEST_CASE("Streams: a queue that cannot be is refused, so no batch waits for its room") {
  const LoadedForTest plan(PlanOf(kSmallModel));
  for (const size_t count : {SIZE_MAX, SIZE_MAX - 1, size_t{1} << 60}) {
    tenon_stream_options options = OptionsOf(TENON_STREAM_SEQUENTIAL);
    options.queue_depth = count;
    CHECK(OpenError(plan.get(), options).find("a stream has room for") != std::string::npos);
    options.queue_depth = 0;
    options.results = count;
    CHECK(OpenError(plan.get(), options).find("a stream has room for") != std::string::npos);
  }
}

TEST_CASE("Streams: what an op refuses ends its ticket, and is not taken for an unknown one") {
  const LoadedForTest plan(PlanOf(R"(graph pick
input %x: f32[4,2]
input %i: i32[2]
%y = gather(%x, %i) {axis=0}
output %y
)"));
  const StreamForTest stream(plan.get());
  const auto job_of = [&](int32_t last) {
    const int32_t indices[] = {0, last};
    std::vector<std::byte> bytes(sizeof indices);
    std::memcpy(bytes.data(), indices, sizeof indices);
    return JobFor(plan.get(), {Floats(8, 1), bytes});
  };
  Job wrong = job_of(9);
  REQUIRE(Submit(stream, wrong) == TENON_OK);
  tenon_error error{};
  CHECK(tenon_stream_wait(stream.get(), wrong.ticket, kMinute, &error) ==
        TENON_FAILED_PRECONDITION);
  CHECK(std::string(error.message).find("9") != std::string::npos);
  CHECK(tenon_stream_wait(stream.get(), wrong.ticket, kMinute, &error) == TENON_INVALID_ARGUMENT);
  Job right = job_of(3);
  REQUIRE(Submit(stream, right) == TENON_OK);
  CHECK(Await(stream, right.ticket) == "");
}

TEST_CASE("Streams: what is handed in is checked first") {
  const LoadedForTest plan(PlanOf(kSmallModel));
  const StreamForTest stream(plan.get());
  Job job = JobFor(plan.get(), std::vector(2, std::vector<std::byte>(128)));
  std::vector<const void*> inputs = {job.inputs[0].data(), job.inputs[1].data()};
  std::vector<void*> outputs = {job.outputs[0].data(), job.outputs[1].data()};
  tenon_error error;
  uint64_t ticket = 0;
  const auto submit = [&] {
    const tenon_status status =
        tenon_stream_submit(stream.get(), inputs.data(), outputs.data(), kMinute, &ticket, &error);
    CHECK(status == TENON_INVALID_ARGUMENT);
    return std::string(error.message);
  };
  inputs[1] = nullptr;
  CHECK(submit() == "the address for 'other' is NULL");
  inputs[1] = job.inputs[1].data() + 1;
  CHECK(submit() == "memory for 'other' must be aligned to 4 bytes");
  inputs[1] = job.inputs[1].data();
  outputs[0] = nullptr;
  CHECK(submit() == "the address for 'features' is NULL");
  CHECK(tenon_stream_submit(stream.get(), nullptr, outputs.data(), 0, &ticket, &error) ==
        TENON_INVALID_ARGUMENT);
  CHECK(tenon_stream_submit(stream.get(), inputs.data(), outputs.data(), 0, nullptr, &error) ==
        TENON_INVALID_ARGUMENT);
  CHECK(tenon_stream_submit(nullptr, inputs.data(), outputs.data(), 0, &ticket, &error) ==
        TENON_INVALID_ARGUMENT);
  CHECK(tenon_stream_wait(nullptr, 1, 0, &error) == TENON_INVALID_ARGUMENT);
  CHECK(tenon_stream_wait(stream.get(), 1, 0, &error) == TENON_INVALID_ARGUMENT);
  tenon_stream_stats stats;
  CHECK(tenon_stream_get_stats(nullptr, &stats) == TENON_INVALID_ARGUMENT);
  CHECK(tenon_stream_get_stats(stream.get(), nullptr) == TENON_INVALID_ARGUMENT);
  tenon_stream* none = nullptr;
  CHECK(tenon_stream_open(nullptr, nullptr, &none, &error) == TENON_INVALID_ARGUMENT);
  CHECK(tenon_stream_open(plan.get(), nullptr, nullptr, &error) == TENON_INVALID_ARGUMENT);
  tenon_stream_close(nullptr);
  CHECK(stream.Stats().submitted == 0);
}

TEST_CASE("Streams: an output that lies over another port of the same input is refused") {
  const LoadedForTest plan(PlanOf(kSmallModel));
  const StreamForTest stream(plan.get());
  Job job = JobFor(plan.get(), std::vector(2, std::vector<std::byte>(128)));
  const std::vector<const void*> inputs = {job.inputs[0].data(), job.inputs[1].data()};
  void* const own[] = {job.outputs[0].data(), job.outputs[1].data()};
  tenon_error error;
  uint64_t ticket = 0;
  const auto message = [&](void* first, void* second) {
    void* const outputs[] = {first, second};
    const tenon_status status =
        tenon_stream_submit(stream.get(), inputs.data(), outputs, kMinute, &ticket, &error);
    CHECK(status == TENON_INVALID_ARGUMENT);
    return std::string(error.message);
  };
  const std::string features = "memory for the output 'features' overlaps that of another port";
  CHECK(message(job.inputs[1].data() + 124, own[1]) == features);
  CHECK(message(own[0], own[0]).find("overlaps that of another port") != std::string::npos);
  void* const over[] = {own[0], job.inputs[0].data()};
  CHECK(tenon_stream_run_batch(stream.get(), 1, inputs.data(), over, &error) ==
        TENON_INVALID_ARGUMENT);
  CHECK(stream.Stats().submitted == 0);
}

TEST_CASE("Streams: inputs are read in place and never written") {
  const LoadedForTest plan(PlanOf(kSmallModel));
  const StreamForTest stream(plan.get(), OptionsOf(TENON_STREAM_SEQUENTIAL, 2));
  const auto inputs = RandomInputs(*converter::ParseGraph(kSmallModel), 5);
  std::vector<Job> jobs(20);
  for (Job& job : jobs) {
    job = JobFor(plan.get(), inputs);
    REQUIRE(Submit(stream, job) == TENON_OK);
  }
  for (const Job& job : jobs) {
    CHECK(Await(stream, job.ticket) == "");
    CHECK(job.inputs == inputs);
    CHECK(job.outputs == jobs[0].outputs);
  }
}

TEST_CASE("Streams: two at once on one plan, of different modes") {
  const LoadedForTest plan(SmallProgram(3, 1).Plan());
  const Graph graph = *converter::ParseGraph(kSmallModel);
  std::vector<std::thread> users;
  std::atomic<int> wrong{0};
  for (const tenon_stream_mode mode : {TENON_STREAM_INTER, TENON_STREAM_SEQUENTIAL}) {
    users.emplace_back([&, mode] {
      const StreamForTest stream(plan.get(), OptionsOf(mode, 2));
      for (uint64_t n = 0; n < 30; ++n) {
        Job job = JobFor(plan.get(), RandomInputs(graph, n));
        if (Submit(stream, job) != TENON_OK || !Await(stream, job.ticket).empty()) ++wrong;
        const Evaluation expected = EvaluateGraph(graph, job.inputs);
        for (size_t i = 0; i < graph.outputs().size(); ++i) {
          if (job.outputs[i] != expected.values.at(graph.outputs()[i].tensor)) ++wrong;
        }
      }
    });
  }
  for (std::thread& user : users) user.join();
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace tenon::test
