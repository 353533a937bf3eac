// Streams of tenon.h through pipelines: order, rings, memory.
#include "tests/unit/sdk/src/stream_testing.hpp"

namespace tenon::test {
namespace {

TEST_CASE("Pipelines: every input comes out right whatever the rings' depths") {
  for (const uint16_t a_slots : std::vector<uint16_t>{1, 2, 3}) {
    for (const uint16_t b_slots : std::vector<uint16_t>{1, 2}) {
      CAPTURE(a_slots);
      CAPTURE(b_slots);
      const LoadedForTest plan(AdderPipeline(a_slots, b_slots).Write());
      const StreamForTest stream(plan.get(), OptionsOf(TENON_STREAM_PIPELINE));
      CHECK(stream.Stats().stages == 3);
      CHECK(stream.Stats().threads == 3);
      CHECK(stream.Stats().channels == 2);
      std::vector<Job> jobs;
      for (size_t n = 0; n < 200; ++n) jobs.push_back(JobFor(plan.get(), AdderInputs(n)));
      for (Job& job : jobs) REQUIRE(Submit(stream, job) == TENON_OK);
      for (size_t n = 0; n < jobs.size(); ++n) {
        CHECK(jobs[n].ticket == n + 1);
        CHECK(Await(stream, jobs[n].ticket) == "");
        CHECK(IsAdderOutput(n, jobs[n].outputs[0]));
      }
    }
  }
}

TEST_CASE("Pipelines: replicas of one have arenas of their own and compute the same") {
  const LoadedForTest plan(AdderPipeline(2, 2).Write());
  const StreamForTest one(plan.get(), OptionsOf(TENON_STREAM_PIPELINE));
  const StreamForTest stream(plan.get(), OptionsOf(TENON_STREAM_PIPELINE, 3));
  CHECK(stream.Stats().threads == 9);
  CHECK(stream.Stats().arena_bytes == 3 * one.Stats().arena_bytes);
  CHECK(stream.Stats().in_flight_limit == 3 * one.Stats().in_flight_limit);
  std::vector<Job> jobs;
  for (size_t n = 0; n < 100; ++n) jobs.push_back(JobFor(plan.get(), AdderInputs(n)));
  for (Job& job : jobs) REQUIRE(Submit(stream, job) == TENON_OK);
  for (size_t n = jobs.size(); n > 0; --n) {
    CHECK(Await(stream, jobs[n - 1].ticket) == "");
    CHECK(IsAdderOutput(n - 1, jobs[n - 1].outputs[0]));
  }
}

TEST_CASE("Pipelines: arena bytes are those of the stages plus every slot of the rings") {
  constexpr size_t kBytes = kAdderElements * sizeof(float);
  const LoadedForTest plan(AdderPipeline(3, 2).Write());
  const StreamForTest stream(plan.get(), OptionsOf(TENON_STREAM_PIPELINE));
  CHECK(stream.Stats().arena_bytes == (3 + 3 + 2) * kBytes);
  tenon_channel_stats channel;
  REQUIRE(tenon_stream_get_channel_stats(stream.get(), 0, &channel) == TENON_OK);
  CHECK(channel.from == 0);
  CHECK(channel.to == 2);
  CHECK(channel.depth == 3);
  CHECK(tenon_stream_get_channel_stats(stream.get(), 2, &channel) == TENON_INVALID_ARGUMENT);
  tenon_stage_stats stage;
  CHECK(tenon_stream_get_stage_stats(stream.get(), 0, 3, &stage) == TENON_INVALID_ARGUMENT);
  CHECK(tenon_stream_get_stage_stats(stream.get(), 1, 0, &stage) == TENON_INVALID_ARGUMENT);
}

TEST_CASE("Pipelines: stages have no waits to run one input by, so there is no team for them") {
  const LoadedForTest plan(AdderPipeline(1, 1).Write());
  CHECK(OpenError(plan.get(), OptionsOf(TENON_STREAM_INTER)).find("is a pipeline") !=
        std::string::npos);
}

TEST_CASE("Pipelines: their programs run one input after the other, too") {
  const LoadedForTest plan(AdderPipeline(2, 1).Write());
  const StreamForTest stream(plan.get(), OptionsOf(TENON_STREAM_SEQUENTIAL, 2));
  for (size_t n = 0; n < 10; ++n) {
    Job job = JobFor(plan.get(), AdderInputs(n));
    REQUIRE(Submit(stream, job) == TENON_OK);
    CHECK(Await(stream, job.ticket) == "");
    CHECK(IsAdderOutput(n, job.outputs[0]));
  }
}

}  // namespace
}  // namespace tenon::test
