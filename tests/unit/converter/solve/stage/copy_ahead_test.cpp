#include "converter/solve/stage/copy_ahead.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

namespace tenon::converter {
namespace {

using Starts = std::vector<int32_t>;

/// Ops that take 10 each while 100 bytes are alive.
StageCopies Tens(size_t ops, std::vector<StageCopies::Copy> copies) {
  return {std::vector<StageCopies::Op>(ops, {10, 100}), std::move(copies)};
}

TEST_CASE("StartCopies: a copy begins just so early that its reader need not wait") {
  // Ops end at 10, 20, 30, 40; a copy of 15 for the last is to begin at 15 or before.
  const CopyStarts starts = StartCopies(Tens(4, {{15, 3, 3, 1}}), {});
  CHECK(starts.before == Starts{1});
  CHECK(starts.time == 40);
}

TEST_CASE("StartCopies: copies come one after the other") {
  // The second begins at 15, so the first, which takes 10, at 5.
  const CopyStarts starts = StartCopies(Tens(4, {{10, 3, 3, 1}, {15, 3, 3, 1}}), {});
  CHECK(starts.before == Starts{0, 1});
  CHECK(starts.time == 40);
}

TEST_CASE("StartCopies: what the first op reads delays it") {
  const CopyStarts starts = StartCopies(Tens(2, {{4, 0, 0, 1}, {6, 1, 1, 1}}), {});
  CHECK(starts.before == Starts{0, 0});
  CHECK(starts.time == 24);
}

TEST_CASE("StartCopies: a lead lets copies begin earlier than they must") {
  const StageCopies stage = Tens(6, {{15, 5, 5, 1}});
  CHECK(StartCopies(stage, {}).before == Starts{3});
  CHECK(StartCopies(stage, {2}).before == Starts{1});
  CHECK(StartCopies(stage, {100}).before == Starts{0});
}

TEST_CASE("StartCopies: where too much would be alive a copy begins later, and its reader waits") {
  StageCopies stage = Tens(4, {{25, 3, 3, 40}});
  CHECK(StartCopies(stage, {0, 0}).before == Starts{0});
  stage.ops[1].live_bytes = 120;
  CHECK(StartCopies(stage, {0, 19}).before == Starts{2});
  CHECK(StartCopies(stage, {0, 19}).time == 20 + 25 + 10);
  CHECK(StartCopies(stage, {0, 20}).before == Starts{0});
  CHECK(StartCopies(stage, {0, -1}).before == Starts{3});
}

/// When the stage ends if each copy begins as soon as it may: not before op `before` does.
Picoseconds TimeOf(const StageCopies& stage, const Starts& before) {
  Picoseconds unit = 0;
  Picoseconds engine = 0;
  size_t next = 0;
  std::vector<Picoseconds> ready(stage.ops.size(), 0);
  for (size_t op = 0; op < stage.ops.size(); ++op) {
    for (; next < before.size() && before[next] == static_cast<int32_t>(op); ++next) {
      engine = std::max(engine, unit) + stage.copies[next].time;
      Picoseconds& read = ready[static_cast<size_t>(stage.copies[next].reader)];
      read = std::max(read, engine);
    }
    unit = std::max(unit, ready[op]) + stage.ops[op].time;
  }
  return unit;
}

/// Calls `visit` with all starts that keep the order of the copies and come before the readers.
template <typename Visit>
void ForEachStart(const StageCopies& stage, Starts& so_far, const Visit& visit) {
  if (so_far.size() == stage.copies.size()) return visit(so_far);
  const int32_t reader = stage.copies[so_far.size()].reader;
  for (int32_t op = so_far.empty() ? 0 : so_far.back(); op <= reader; ++op) {
    so_far.push_back(op);
    ForEachStart(stage, so_far, visit);
    so_far.pop_back();
  }
}

StageCopies RandomStage(std::mt19937_64& random) {
  StageCopies stage;
  const size_t ops = 1 + random() % 5;
  for (size_t i = 0; i < ops; ++i) {
    stage.ops.push_back(
        {static_cast<Picoseconds>(random() % 12), static_cast<int64_t>(random() % 100)});
  }
  const auto last = static_cast<int32_t>(ops) - 1;
  int32_t reader = 0;
  for (size_t i = random() % 5; i > 0; --i) {
    reader = std::min(reader + static_cast<int32_t>(random() % 3), last);
    stage.copies.push_back({static_cast<Picoseconds>(1 + random() % 12), reader,
                            std::min(reader + static_cast<int32_t>(random() % 2), last),
                            static_cast<int64_t>(1 + random() % 50)});
  }
  return stage;
}

TEST_CASE("StartCopies: of all starts none is faster") {
  std::mt19937_64 random(7);
  for (int round = 0; round < 2000; ++round) {
    CAPTURE(round);
    const StageCopies stage = RandomStage(random);
    const CopyStarts found = StartCopies(stage, {});
    CHECK(TimeOf(stage, found.before) == found.time);
    Starts starts;
    ForEachStart(stage, starts,
                 [&](const Starts& other) { CHECK(TimeOf(stage, other) >= found.time); });
    CHECK(StartCopies(stage, {static_cast<int32_t>(random() % 4)}).time == found.time);
  }
}

TEST_CASE("StartCopies: no more is alive than may be") {
  std::mt19937_64 random(8);
  for (int round = 0; round < 2000; ++round) {
    CAPTURE(round);
    const StageCopies stage = RandomStage(random);
    const auto peak = [&](const Starts& before) {
      int64_t most = 0;
      for (size_t op = 0; op < stage.ops.size(); ++op) {
        int64_t bytes = stage.ops[op].live_bytes;
        for (size_t i = 0; i < before.size(); ++i) {
          const auto at = static_cast<int32_t>(op);
          if (before[i] <= at && at <= stage.copies[i].last_reader) bytes += stage.copies[i].bytes;
        }
        most = std::max(most, bytes);
      }
      return most;
    };
    Starts readers;
    for (const StageCopies::Copy& copy : stage.copies) readers.push_back(copy.reader);
    const auto spare = static_cast<int64_t>(random() % 60);
    const CopyStarts found = StartCopies(stage, {1, spare});
    CHECK(peak(found.before) <= peak(readers) + spare);
  }
}

}  // namespace
}  // namespace tenon::converter
