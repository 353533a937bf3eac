#include "backends/cpu/kernels/thread_pool.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "runtime/backend_api/parallel.hpp"

namespace tenon::cpu {
namespace {

/// A runner that ends its threads.
class Pool {
 public:
  explicit Pool(int threads) : runner_(MakeThreadPool(threads)) {}
  ~Pool() { FreeThreadPool(runner_); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  [[nodiscard]] const ParallelRunner* runner() const { return &runner_; }

 private:
  ParallelRunner runner_;
};

/// Adds i to element i, for all i; plain memory, so that a lost or doubled piece shows.
void AddIndices(const ParallelRunner* runner, std::vector<int64_t>& values) {
  ParallelFor(runner, static_cast<int>(values.size()), [&](int begin, int end) {
    for (int i = begin; i < end; ++i) values[static_cast<size_t>(i)] += i;
  });
}

}  // namespace

TEST_CASE("Thread pool: a hundred thousand small jobs lose no piece and do none twice") {
  const Pool pool(3);
  std::vector<int64_t> values(37, 0);
  constexpr int kJobs = 100'000;
  for (int job = 0; job < kJobs; ++job) AddIndices(pool.runner(), values);
  for (size_t i = 0; i < values.size(); ++i) CHECK(values[i] == kJobs * static_cast<int64_t>(i));
}

TEST_CASE("Thread pool: jobs after a pause, when the workers sleep, are done too") {
  const Pool pool(2);
  std::vector<int64_t> values(8, 0);
  for (int job = 0; job < 20; ++job) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    AddIndices(pool.runner(), values);
  }
  for (size_t i = 0; i < values.size(); ++i) CHECK(values[i] == 20 * static_cast<int64_t>(i));
}

TEST_CASE("Thread pool: a thread's own part is the same of every job") {
  const Pool pool(2);
  for (int job = 0; job < 200; ++job) {
    std::atomic<int> started{0};
    std::vector<std::thread::id> threads(2);
    ParallelFor(pool.runner(), 2, [&](int begin, int end) {
      REQUIRE(end == begin + 1);
      threads[static_cast<size_t>(begin)] = std::this_thread::get_id();
      // Neither part ends before both have begun, so no thread can do both.
      ++started;
      while (started.load() < 2) std::this_thread::yield();
    });
    CHECK((threads[0] == std::this_thread::get_id()));
    CHECK((threads[1] != threads[0]));
  }
}

TEST_CASE("Thread pool: two callers at once both get their work done") {
  const Pool pool(2);
  std::vector<std::vector<int64_t>> values(2, std::vector<int64_t>(50, 0));
  std::vector<std::thread> callers;
  for (std::vector<int64_t>& own : values) {
    callers.emplace_back([&pool, &own] {
      for (int job = 0; job < 5'000; ++job) AddIndices(pool.runner(), own);
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (const std::vector<int64_t>& own : values) {
    for (size_t i = 0; i < own.size(); ++i) CHECK(own[i] == 5'000 * static_cast<int64_t>(i));
  }
}

TEST_CASE("Thread pool: one thread needs no team") {
  const Pool pool(1);
  CHECK((pool.runner()->run == nullptr));
  CHECK(pool.runner()->threads == 1);
}

TEST_CASE("Thread pool: as many threads as asked for, however many") {
  const Pool pool(100);
  CHECK(pool.runner()->threads == 100);
  std::vector<int64_t> values(1234, 0);
  for (int job = 0; job < 20; ++job) AddIndices(pool.runner(), values);
  for (size_t i = 0; i < values.size(); ++i) CHECK(values[i] == 20 * static_cast<int64_t>(i));
}

TEST_CASE("Thread pool: a forked process works alone and need not wait for its parent's threads") {
  ParallelRunner runner = MakeThreadPool(3);
  std::vector<int64_t> values(37, 0);
  AddIndices(&runner, values);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));  // the workers sleep
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(20);  // ends a child that hangs
    for (int job = 0; job < 5; ++job) AddIndices(&runner, values);
    FreeThreadPool(runner);
    _exit(values[36] == 6 * 36 ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  AddIndices(&runner, values);
  CHECK(values[36] == 2 * 36);
  FreeThreadPool(runner);
}

}  // namespace tenon::cpu
