// Streams through a pipeline of CPU, board and CPU: rings, several inputs under way, faults.
#include <doctest/doctest.h>

#include "tests/unit/backends/fpga/loopback_pipeline.hpp"

using namespace tenon;        // NOLINT
using namespace tenon::test;  // NOLINT

TEST_CASE("pipeline: every input takes its own slots, on the board too") {
  const Loaded plan(PipelineOnBoard(false));
  REQUIRE(plan.error() == "");
  const uint64_t starts = CountOf("starts");
  const StreamForTest stream(plan.plan(), PipelineOptions());
  std::vector<Job> jobs = JobsFor(plan.plan(), 200);
  for (Job& job : jobs) REQUIRE(Submit(stream, job) == TENON_OK);
  for (const Job& job : jobs) {
    CHECK(Await(stream, job.ticket) == "");
    CHECK(Flipped(job) == 1);
  }
  CHECK(CountOf("starts") == starts + jobs.size());
}

TEST_CASE("pipeline: an input whose start fails says so, all others are right") {
  const Fault fault("axi-error@21");
  const Loaded plan(PipelineOnBoard(false));
  REQUIRE(plan.error() == "");
  const StreamForTest stream(plan.plan(), PipelineOptions());
  std::vector<Job> jobs = JobsFor(plan.plan(), 60);
  for (Job& job : jobs) REQUIRE(Submit(stream, job) == TENON_OK);
  for (size_t n = 0; n < jobs.size(); ++n) {
    CAPTURE(n);
    const std::string error = Await(stream, jobs[n].ticket);
    CHECK(Contains(error, "the memory answered with an error") == (n == 20));
    if (n != 20) CHECK(Flipped(jobs[n]) == 1);
  }
}

TEST_CASE("pipeline: with a fall-back the CPU stands in for a board that is stuck") {
  const Fault fault("stuck@11");
  const Loaded plan(PipelineOnBoard(true));
  REQUIRE(plan.error() == "");
  const StreamForTest stream(plan.plan(), PipelineOptions());
  std::vector<Job> jobs = JobsFor(plan.plan(), 40);
  for (Job& job : jobs) REQUIRE(Submit(stream, job) == TENON_OK);
  for (size_t n = 0; n < jobs.size(); ++n) {
    CAPTURE(n);
    CHECK(Await(stream, jobs[n].ticket) == "");
    CHECK(Flipped(jobs[n]) == (n < 10 ? 1 : 0));
  }
}
