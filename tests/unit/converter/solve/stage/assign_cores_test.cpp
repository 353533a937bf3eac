#include "converter/solve/stage/assign_cores.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

namespace tenon::converter {
namespace {

std::vector<CoreTask> RandomTasks(uint64_t seed, int count) {
  std::mt19937_64 random(seed);
  std::vector<CoreTask> tasks;
  for (int i = 0; i < count; ++i) {
    CoreTask task;
    task.time = static_cast<Picoseconds>(random() % 50);
    for (int need = 0; need < i; ++need) {
      if (random() % static_cast<uint64_t>(count) < 2) task.needs.push_back(need);
    }
    if (random() % 10 == 0) task.worker = 3;  // a device
    tasks.push_back(std::move(task));
  }
  return tasks;
}

TEST_CASE("AssignCores: two equal branches go to two cores, with one wait") {
  // A fork, two branches of two, a join.
  const std::vector<CoreTask> tasks = {{10, {}, -1},  {50, {0}, -1}, {50, {1}, -1},
                                       {50, {0}, -1}, {50, {3}, -1}, {10, {2, 4}, -1}};
  const CoreAssignment dealt = AssignCores(tasks, 2, 5);
  CHECK(dealt.makespan == 10 + 5 + 100 + 10);
  CHECK(dealt.worker[1] == dealt.worker[2]);
  CHECK(dealt.worker[3] == dealt.worker[4]);
  CHECK(dealt.worker[1] != dealt.worker[3]);
}

TEST_CASE("AssignCores: a chain stays on one core") {
  const std::vector<CoreTask> tasks = {{10, {}, -1}, {10, {0}, -1}, {10, {1}, -1}};
  const CoreAssignment dealt = AssignCores(tasks, 4, 5);
  CHECK(dealt.worker == std::vector<int32_t>{0, 0, 0});
  CHECK(dealt.makespan == 30);
}

TEST_CASE("AssignCores: branches that are shorter than waiting stay together") {
  const std::vector<CoreTask> tasks = {{10, {}, -1}, {3, {0}, -1}, {3, {0}, -1}, {1, {1, 2}, -1}};
  CHECK(AssignCores(tasks, 2, 20).makespan == 17);
}

TEST_CASE("AssignCores: random graphs keep their dependencies, devices and bounds") {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    const std::vector<CoreTask> tasks = RandomTasks(seed, 20);
    const CoreAssignment dealt = AssignCores(tasks, 3, 4);
    const CoreAssignment one = AssignCores(tasks, 1, 4);
    CHECK(dealt.makespan <= one.makespan);
    std::vector<size_t> place(tasks.size());
    REQUIRE(dealt.order.size() == tasks.size());
    for (size_t i = 0; i < dealt.order.size(); ++i) {
      place[static_cast<size_t>(dealt.order[i])] = i;
    }
    Picoseconds core_work = 0;
    for (size_t i = 0; i < tasks.size(); ++i) {
      for (const int32_t need : tasks[i].needs) CHECK(place[static_cast<size_t>(need)] < place[i]);
      if (tasks[i].worker >= 0) {
        CHECK(dealt.worker[i] == 3);
      } else {
        CHECK(dealt.worker[i] < 3);
        core_work += tasks[i].time;
      }
    }
    CHECK(dealt.makespan >= (core_work + 2) / 3);
  }
}

}  // namespace
}  // namespace tenon::converter
