#include "converter/solve/program/windows.hpp"

#include <doctest/doctest.h>

#include "tests/unit/converter/solve/program/memory_program_testing.hpp"

namespace tenon::converter {
namespace {

/// A chain with one bulky place in every eight ops.
MemoryStepsProblem Waves(Index ops) {
  MemoryStepsProblem problem;
  problem.fast_bytes = 20;
  for (Index i = 0; i < ops; ++i) {
    RepeatableOp op;
    op.time = 1;
    op.writes = {i};
    if (i > 0) op.reads = {i - 1};
    problem.ops.push_back(op);
    MovableStorage storage;
    storage.bytes = i % 8 == 4 ? 19 : 2;
    problem.storages.push_back(storage);
  }
  problem.storages.back().to_end = true;
  return problem;
}

TEST_CASE("Windows contain every op over the limit, and lie apart") {
  const MemoryStepsProblem problem = Waves(40);
  const CostOfSteps cost = CostOf(problem, EveryOpOnce(problem));
  const std::vector<ProgramWindow> windows = FindWindows(problem, 6);
  CHECK(windows.size() == 5);
  for (size_t k = 1; k < windows.size(); ++k) CHECK(windows[k].begin >= windows[k - 1].end);
  for (Index i = 0; i < problem.ops.size(); ++i) {
    if (cost.live[i] <= problem.fast_bytes) continue;
    CHECK(std::any_of(windows.begin(), windows.end(), [&](const ProgramWindow& window) {
      return window.begin <= i && i < window.end;
    }));
  }
  for (const ProgramWindow& window : windows) CHECK(window.end - window.begin <= 6);
}

TEST_CASE("A window's problem has the live bytes that its ops have in the whole") {
  std::mt19937 random(5);
  for (int round = 0; round < 20; ++round) {
    MemoryStepsProblem problem = RandomSteps(random, 24, true, true);
    const CostOfSteps whole = CostOf(problem, EveryOpOnce(problem));
    const ProgramWindow window = {static_cast<Index>(round % 7),
                                  static_cast<Index>(16 + round % 5)};
    const WindowProblem part = ProblemOf(problem, window);
    const CostOfSteps own = CostOf(part.problem, EveryOpOnce(part.problem));
    REQUIRE(own.valid);
    for (Index i = window.begin; i < window.end; ++i) {
      CHECK(own.live[i - window.begin] == whole.live[i]);
    }
    CHECK(StepsOfWhole(part, window.begin, {{StepKind::kRun, 1}, {StepKind::kMoveOut, 0}}) ==
          std::vector<MemoryStep>{{StepKind::kRun, window.begin + 1},
                                  {StepKind::kMoveOut, part.storages[0]}});
  }
}

}  // namespace
}  // namespace tenon::converter
