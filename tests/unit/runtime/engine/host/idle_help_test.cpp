#include "runtime/engine/host/idle_help.hpp"

#include <doctest/doctest.h>

#include <thread>
#include <vector>

namespace tenon {
namespace {

TEST_CASE("IdleHelp: every index of an op is done once, with helpers that come and go") {
  IdleHelp help;
  std::atomic<bool> is_over{false};
  int woken = 0;
  const ParallelRunner runner = help.Runner(
      3, [](void* count) { ++*static_cast<int*>(count); }, &woken);
  CHECK(runner.threads == 3);
  std::vector<std::thread> helpers;
  for (int i = 0; i < 2; ++i) {
    helpers.emplace_back([&] {
      while (!is_over) {
        if (help.HasWork()) help.Help();
      }
    });
  }
  int wrong = 0;
  for (int count = 1; count < 2000; count += 7) {
    std::vector<int> done(static_cast<size_t>(count), 0);
    ParallelFor(&runner, count, [&](int begin, int end) {
      for (int i = begin; i < end; ++i) ++done[static_cast<size_t>(i)];
    });
    for (const int times : done) wrong += times == 1 ? 0 : 1;
  }
  is_over = true;
  for (std::thread& helper : helpers) helper.join();
  CHECK(wrong == 0);
  CHECK(woken > 0);
}

TEST_CASE("IdleHelp: an op that comes while another is open is done by its worker alone") {
  IdleHelp help;
  const ParallelRunner runner = help.Runner(
      2, [](void*) {}, nullptr);
  int inner_calls = 0;
  int inner_count = 0;
  ParallelFor(&runner, 64, [&](int begin, int) {
    if (begin != 0) return;
    ParallelFor(&runner, 100, [&](int from, int to) {
      ++inner_calls;
      inner_count += to - from;
    });
  });
  CHECK(inner_calls == 1);
  CHECK(inner_count == 100);
}

}  // namespace
}  // namespace tenon
