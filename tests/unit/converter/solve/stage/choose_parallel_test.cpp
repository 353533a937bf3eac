#include "converter/solve/stage/choose_parallel.hpp"

#include <doctest/doctest.h>

namespace tenon::converter {
namespace {

ParallelCandidate Candidate(ParallelMode mode, Picoseconds latency, Picoseconds period,
                            int64_t memory = 100) {
  ParallelCandidate candidate;
  candidate.mode = mode;
  candidate.latency = latency;
  candidate.period = period;
  candidate.memory_bytes = memory;
  return candidate;
}

std::vector<ParallelCandidate> Usual() {
  return {Candidate(ParallelMode::kIntra, 600, 600), Candidate(ParallelMode::kReplicas, 1000, 500),
          Candidate(ParallelMode::kPipeline, 1100, 520), Candidate(ParallelMode::kInter, 700, 700)};
}

ParallelMode Chosen(std::vector<ParallelCandidate> candidates, bool for_throughput,
                    ParallelMode asked = ParallelMode::kAuto) {
  const auto choice = ChooseParallel(std::move(candidates), for_throughput, asked);
  REQUIRE(choice.ok());
  return choice->mode;
}

TEST_CASE("ChooseParallel: the shortest latency for one input, the shortest period for a stream") {
  CHECK(Chosen(Usual(), false) == ParallelMode::kIntra);
  CHECK(Chosen(Usual(), true) == ParallelMode::kReplicas);
}

TEST_CASE("ChooseParallel: what is asked for beats what is predicted") {
  CHECK(Chosen(Usual(), true, ParallelMode::kPipeline) == ParallelMode::kPipeline);
  CHECK(Chosen(Usual(), false, ParallelMode::kInter) == ParallelMode::kInter);
}

TEST_CASE("ChooseParallel: another mode than intra must be worth it") {
  CHECK(Chosen({Candidate(ParallelMode::kIntra, 1000, 1000),
                Candidate(ParallelMode::kInter, 985, 985)},
               false) == ParallelMode::kIntra);
  CHECK(Chosen({Candidate(ParallelMode::kIntra, 1000, 1000),
                Candidate(ParallelMode::kInter, 970, 970)},
               false) == ParallelMode::kInter);
}

TEST_CASE("ChooseParallel: among equals the one with less memory") {
  CHECK(Chosen({Candidate(ParallelMode::kIntra, 9, 9), Candidate(ParallelMode::kReplicas, 9, 5, 80),
                Candidate(ParallelMode::kPipeline, 9, 5, 60)},
               true) == ParallelMode::kPipeline);
}

TEST_CASE("ChooseParallel: what is not possible is not chosen, and refused with the reason") {
  auto candidates = Usual();
  candidates[1].why_not = "it takes several threads";
  CHECK(Chosen(candidates, true) == ParallelMode::kPipeline);
  const auto refused = ChooseParallel(candidates, true, ParallelMode::kReplicas);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().kind == ErrorKind::kUsage);
  CHECK(refused.error().message.find("several threads") != std::string::npos);
}

TEST_CASE("ChooseParallel: what needs too much memory does not fit, and it is said what does") {
  auto candidates = Usual();
  candidates[1].why_not = "it needs 200 bytes";
  candidates[1].too_large = true;
  const auto refused = ChooseParallel(candidates, true, ParallelMode::kReplicas);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().kind == ErrorKind::kDoesNotFit);
  CHECK(refused.error().message == "parallel 'replicas' is not possible: it needs 200 bytes");
  REQUIRE(refused.error().details.size() == 1);
  CHECK(refused.error().details[0] == "without --parallel a mode is chosen that fits");
}

TEST_CASE("ChooseParallel: of several candidates of the mode asked for the best is taken") {
  std::vector<ParallelCandidate> candidates = Usual();
  candidates.push_back(Candidate(ParallelMode::kReplicasIntra, 800, 400));
  candidates.push_back(Candidate(ParallelMode::kReplicasIntra, 700, 450));
  const auto choice = ChooseParallel(candidates, false, ParallelMode::kReplicasIntra);
  REQUIRE(choice.ok());
  CHECK(choice->chosen == 5);
  candidates[5].why_not = "memory";
  CHECK(ChooseParallel(candidates, false, ParallelMode::kReplicasIntra)->chosen == 4);
}

TEST_CASE("ParallelModes: their names say what runs beside what") {
  CHECK(RunsReplicas(ParallelMode::kReplicasInterIntra));
  CHECK(RunsBetweenOps(ParallelMode::kReplicasInterIntra));
  CHECK(RunsInsideOps(ParallelMode::kReplicasInterIntra));
  CHECK_FALSE(RunsInsideOps(ParallelMode::kInter));
  CHECK_FALSE(RunsBetweenOps(ParallelMode::kReplicasIntra));
  CHECK_FALSE(RunsReplicas(ParallelMode::kPipeline));
}

TEST_CASE("ParseParallelMode: every name and nothing else") {
  for (const char* name : {"auto", "intra", "inter", "inter+intra", "replicas", "replicas+intra",
                           "replicas+inter", "replicas+inter+intra", "pipeline"}) {
    const auto mode = ParseParallelMode(name);
    REQUIRE(mode.ok());
    CHECK(std::string(ParallelModeName(*mode)) == name);
  }
  CHECK(*ParseParallelMode("intra+replicas") == ParallelMode::kReplicasIntra);
  for (const char* wrong : {"both", "", "intra+", "intra+intra", "pipeline+intra"}) {
    CAPTURE(wrong);
    CHECK_FALSE(ParseParallelMode(wrong).ok());
  }
}

}  // namespace
}  // namespace tenon::converter
