#include "converter/solve/time/time_schedule.hpp"

#include <doctest/doctest.h>

#include "converter/solve/order/list_orders.hpp"
#include "converter/solve/time/time_orders.hpp"
#include "tests/unit/converter/solve/time/time_problems.hpp"

namespace tenon::converter {
namespace {

constexpr Picoseconds kMicrosecond = 1'000'000;

/// npu-3unit's case computed by hand: x and the weights are in fast memory. Units: 0 matrix, 1
/// vector. Tasks: A, B, C, D.
TimeProblem HandComputedCase() {
  TimeProblem problem;
  problem.units = 2;
  const Picoseconds conv = 13'145'056;
  const Picoseconds relu = 3'436'000;
  const Picoseconds add = 2'652'000;
  const int64_t bytes = 200'704;
  for (int s = 0; s < 5; ++s) {  // x, A, B, C, D
    problem.storages.push_back({bytes, false, s == 0, s == 4});
    TimeValue value;
    value.storage = static_cast<Index>(s);
    value.bytes = bytes;
    if (s > 0) value.parts = {static_cast<Index>(s)};
    problem.values.push_back(value);
  }
  problem.tasks = {{0, conv, {}, {0}, {1}, 0, {}},
                   {1, relu, {}, {0}, {2}, 0, {}},
                   {0, conv, {1}, {2}, {3}, 0, {}},
                   {1, add, {0, 2}, {1, 3}, {4}, 0, {}}};
  problem.fast_bytes = 2 << 20;
  problem.may_move_out = false;
  return problem;
}

double MicrosecondsOf(const TimeProblem& problem, const std::vector<Index>& order) {
  const TimeOutcome outcome = TimeEvaluator(problem).Evaluate(order);
  REQUIRE(outcome.fits);
  return static_cast<double>(outcome.makespan) / kMicrosecond;
}

TEST_CASE("npu-3unit's case takes 28.942 us with A before C on the matrix unit, else 32.378 us") {
  const TimeProblem problem = HandComputedCase();
  CHECK(MicrosecondsOf(problem, {1, 0, 2, 3}) == doctest::Approx(28.942).epsilon(1e-5));
  CHECK(MicrosecondsOf(problem, {0, 1, 2, 3}) == doctest::Approx(28.942).epsilon(1e-5));
  CHECK(MicrosecondsOf(problem, {1, 2, 0, 3}) == doctest::Approx(32.378).epsilon(1e-5));
}

/// Two tasks on one unit, each with a constant that takes 100 to fetch.
TimeProblem TwoConstants(int64_t fast_bytes) {
  TimeProblem problem;
  problem.fast_bytes = fast_bytes;
  for (Index t = 0; t < 2; ++t) {
    problem.storages.push_back({64, true, false, false});
    problem.values.push_back({t, 64, 100, 100, true, false, {}});
    problem.tasks.push_back({0, 50, {}, {t}, {}, 0, {}});
  }
  problem.tasks[1].predecessors = {0};
  return problem;
}

TEST_CASE("a constant is fetched while the task before runs if there is room for it") {
  CHECK(TimeEvaluator(TwoConstants(128)).Evaluate({0, 1}).makespan == 250);
}

TEST_CASE("without room a constant is fetched when the task before has ended") {
  CHECK(TimeEvaluator(TwoConstants(64)).Evaluate({0, 1}).makespan == 300);
}

TEST_CASE("a task whose operands exceed fast memory is named") {
  const TimeOutcome outcome = TimeEvaluator(TwoConstants(63)).Evaluate({0, 1});
  CHECK_FALSE(outcome.fits);
  CHECK(outcome.stuck == 0);
}

TEST_CASE("a constant that is read again stays while there is room, and is fetched twice without") {
  TimeProblem problem = TwoConstants(128);
  problem.tasks.push_back({0, 50, {1}, {0}, {}, 0, {}});
  CHECK(TimeEvaluator(problem).Record({0, 1, 2}).transfer_time == 200);
  problem.fast_bytes = 64;
  CHECK(TimeEvaluator(problem).Record({0, 1, 2}).transfer_time == 300);
}

/// Tasks on one unit that read constants of 64 bytes, each fetched in 100: the first one's is read
/// again by the last. There is space for two.
TimeProblem FirstConstantAgain(Index between) {
  TimeProblem problem = TwoConstants(128);
  for (Index t = 2; t <= between; ++t) {
    problem.storages.push_back({64, true, false, false});
    problem.values.push_back({t, 64, 100, 100, true, false, {}});
    problem.tasks.push_back({0, 50, {t - 1}, {t}, {}, 0, {}});
  }
  problem.tasks.push_back({0, 50, {between}, {0}, {}, 0, {}});
  return problem;
}

TEST_CASE("what is idle for long makes way for what would come late, if that is wanted") {
  TimeProblem problem = FirstConstantAgain(4);
  const std::vector<Index> order = {0, 1, 2, 3, 4, 5};
  for (const bool with_addresses : {false, true}) {
    problem.with_addresses = with_addresses;
    // The first constant stays, so that each of three others waits for the task before its own.
    problem.idle_tasks = 0;
    CHECK(TimeEvaluator(problem).Evaluate(order).makespan == 750);
    // It makes way for the third one: six fetches in a row, and a task.
    problem.idle_tasks = 2;
    CHECK(TimeEvaluator(problem).Evaluate(order).makespan == 650);
    // In all but the first task it is needed sooner than that.
    problem.idle_tasks = 5;
    CHECK(TimeEvaluator(problem).Evaluate(order).makespan == 750);
  }
}

TEST_CASE(
    "an activation that does not fit is moved out and in again, or refused without slow memory") {
  // 0 writes a (64 bytes), 1 needs all of fast memory, 2 reads a.
  TimeProblem problem;
  problem.fast_bytes = 128;
  problem.storages = {{64, false, false, false}};
  problem.values = {{0, 64, 10, 7, false, false, {0}}};
  problem.tasks = {
      {0, 50, {}, {}, {0}, 0, {}}, {0, 50, {0}, {}, {}, 128, {}}, {0, 50, {0, 1}, {0}, {}, 0, {}}};
  // 50, store 7, 50, fetch 10, 50.
  CHECK(TimeEvaluator(problem).Evaluate({0, 1, 2}).makespan == 167);
  problem.may_move_out = false;
  const TimeOutcome outcome = TimeEvaluator(problem).Evaluate({0, 1, 2});
  CHECK_FALSE(outcome.fits);
  CHECK(outcome.stuck == 1);
}

TEST_CASE("a storage handed over to the output is not counted twice") {
  TimeProblem problem;
  problem.fast_bytes = 64;
  problem.storages = {{64, false, true, false}, {64, false, false, true}};
  problem.values = {{0, 64, 10, 10, false, false, {}}, {1, 64, 10, 10, false, false, {1}}};
  problem.tasks = {{0, 50, {}, {0}, {1}, 0, {}}};
  CHECK_FALSE(TimeEvaluator(problem).Evaluate({0}).fits);
  problem.tasks[0].hand_overs = {{0, 1}};
  const TimeOutcome outcome = TimeEvaluator(problem).Evaluate({0});
  CHECK(outcome.fits);
  CHECK(outcome.peak_bytes == 64);
}

TEST_CASE("parts in slow memory are stored, and a window across two of them is fetched") {
  // 0 and 1 write halves of a slow storage, 2 reads all of it.
  TimeProblem problem;
  problem.fast_bytes = 1024;
  problem.storages = {{128, true, false, false}};
  problem.values = {{0, 64, 10, 7, false, false, {0}},
                    {0, 64, 10, 7, false, false, {1}},
                    {0, 128, 20, 14, false, false, {0, 1}}};
  problem.tasks = {
      {0, 50, {}, {}, {0}, 0, {}}, {0, 50, {}, {}, {1}, 0, {}}, {0, 50, {0, 1}, {2}, {}, 0, {}}};
  CHECK(TimeEvaluator(problem).Evaluate({0, 1, 2}).makespan == 50 + 50 + 7 + 20 + 50);
}

TEST_CASE("an evaluation gives up beyond the limit, and not before") {
  const TimeProblem problem = TwoConstants(128);
  TimeEvaluator evaluator(problem);
  CHECK(evaluator.Evaluate({0, 1}, 249).makespan > 249);
  CHECK(evaluator.Evaluate({0, 1}, 250).makespan == 250);
}

/// Stores in sound schedules of random problems with very little memory; how many did not fit.
struct RandomSchedules {
  int stores = 0;
  int stuck = 0;
};

RandomSchedules CheckRandomSchedules(bool with_addresses, Index idle_tasks = 0) {
  RandomSchedules result;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    RandomTimeSettings settings;
    settings.tasks = 4 + static_cast<Index>(seed % 30);
    settings.units = 1 + static_cast<Index>(seed % 3);
    settings.most_inputs = 1 + static_cast<int>(seed % 4);
    TimeProblem problem = RandomTimeProblem(seed, settings);
    problem.with_addresses = with_addresses;
    problem.idle_tasks = idle_tasks;
    TimeEvaluator evaluator(problem);
    const auto order = RandomOrder(MemoryViewOf(problem), seed);
    const TimeSchedule schedule = evaluator.Record(order);
    CAPTURE(seed);
    CHECK(schedule.events.empty() == !evaluator.Evaluate(order).fits);
    if (schedule.events.empty()) {
      ++result.stuck;
      continue;
    }
    CHECK(WrongWith(problem, schedule) == "");
    CHECK(schedule.peak_bytes <= problem.fast_bytes);
    CHECK(evaluator.Evaluate(order).makespan == schedule.makespan);
    for (const TimeEvent& event : schedule.events) {
      result.stores += event.kind == TimeEventKind::kStore ? 1 : 0;
    }
  }
  return result;
}

TEST_CASE("schedules of random problems are sound, and exist however little memory there is") {
  const RandomSchedules made = CheckRandomSchedules(false);
  CHECK(made.stuck == 0);
  CHECK(made.stores > 800);  // more than the one output of each: the memory is really small
}

TEST_CASE("with addresses too, but for a few where gaps are in the way") {
  const RandomSchedules made = CheckRandomSchedules(true);
  CHECK(made.stuck < 100);
  CHECK(made.stores > 500);
}

TEST_CASE("schedules are sound where idle things make way early") {
  for (const Index idle_tasks : {1, 2, 5}) {
    CAPTURE(idle_tasks);
    const RandomSchedules made = CheckRandomSchedules(false, idle_tasks);
    CHECK(made.stuck == 0);
    CHECK(made.stores > CheckRandomSchedules(false).stores);
    CHECK(CheckRandomSchedules(true, idle_tasks).stuck < 100);
  }
}

}  // namespace
}  // namespace tenon::converter
