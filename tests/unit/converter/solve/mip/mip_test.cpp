#include "converter/solve/mip/mip.hpp"

#include <doctest/doctest.h>

#include <random>

namespace tenon::converter {
namespace {

/// Takes things of some value and weight, at most once each, up to a weight in all.
struct Knapsack {
  std::vector<int> values;
  std::vector<int> weights;
  int most = 0;

  [[nodiscard]] MipProblem Problem() const {
    MipProblem problem;
    std::vector<MipProblem::Term> terms;
    for (size_t i = 0; i < values.size(); ++i) {
      const int32_t column = problem.AddColumn({0, 1, -static_cast<double>(values[i]), true});
      terms.push_back({column, static_cast<double>(weights[i])});
    }
    problem.AddRow(-kMipInfinity, terms, most);
    return problem;
  }

  [[nodiscard]] int BestByTrying() const {
    int best = 0;
    for (uint32_t taken = 0; taken < 1U << values.size(); ++taken) {
      int value = 0;
      int weight = 0;
      for (size_t i = 0; i < values.size(); ++i) {
        if ((taken >> i & 1U) == 0) continue;
        value += values[i];
        weight += weights[i];
      }
      if (weight <= most) best = std::max(best, value);
    }
    return best;
  }
};

Knapsack RandomKnapsack(std::mt19937& random, int things) {
  Knapsack knapsack;
  std::uniform_int_distribution<int> number(1, 30);
  for (int i = 0; i < things; ++i) {
    knapsack.values.push_back(number(random));
    knapsack.weights.push_back(number(random));
    knapsack.most += knapsack.weights.back();
  }
  knapsack.most /= 2;
  return knapsack;
}

TEST_CASE("The best choice is found and proved") {
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    const Knapsack knapsack = RandomKnapsack(random, 10);
    const MipAnswer answer = SolveMip(knapsack.Problem(), {});
    CHECK(answer.state == MipState::kOptimal);
    CHECK(answer.objective == doctest::Approx(-knapsack.BestByTrying()));
    CHECK(answer.bound == doctest::Approx(answer.objective));
  }
}

TEST_CASE("A problem without a solution is said to have none") {
  MipProblem problem;
  const int32_t column = problem.AddColumn({0, 1, 1, true});
  problem.AddRow(0.25, {{column, 1}}, 0.75);
  const MipAnswer answer = SolveMip(problem, {});
  CHECK(answer.state == MipState::kInfeasible);
  CHECK(answer.values.empty());
}

TEST_CASE("A solver that may look at no node keeps the solution that was known") {
  std::mt19937 random(2);
  const Knapsack knapsack = RandomKnapsack(random, 24);
  MipOptions options;
  options.most_nodes = 0;
  options.start.assign(24, 0);
  options.start[3] = 1;
  const MipAnswer answer = SolveMip(knapsack.Problem(), options);
  REQUIRE_FALSE(answer.values.empty());
  CHECK(answer.objective <= -knapsack.values[3]);
  CHECK(answer.bound <= answer.objective + 1e-6);
}

TEST_CASE("The same problem gets the same solution") {
  std::mt19937 random(3);
  const MipProblem problem = RandomKnapsack(random, 30).Problem();
  MipOptions options;
  options.most_nodes = 5;
  CHECK(SolveMip(problem, options).values == SolveMip(problem, options).values);
}

TEST_CASE("Columns that need not be whole take the values between") {
  MipProblem problem;
  const int32_t column = problem.AddColumn({0, 1, -1, false});
  problem.AddRow(-kMipInfinity, {{column, 2}}, 1);
  CHECK(SolveMip(problem, {}).objective == doctest::Approx(-0.5));
}

}  // namespace
}  // namespace tenon::converter
