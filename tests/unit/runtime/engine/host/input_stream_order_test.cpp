// What a stream promises about its stages: order, rings kept, failures that stay with their input,
// nothing lost.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <random>

#include "tests/unit/runtime/engine/host/stream_testing.hpp"

namespace tenon::test {
namespace {

/// Watches a chain of stages from inside: order, and that no ring holds more than its slots.
class Watcher {
 public:
  explicit Watcher(const StreamShape& shape)
      : shape_(shape), started_(shape.lanes * shape.stages), done_(shape.lanes * shape.stages) {}

  /// What is wrong about starting this, or empty.
  std::string Start(size_t lane, size_t stage, uint64_t number) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (At(started_, lane, stage)++ != number) return "not in order";
    for (const StreamEdge& edge : shape_.edges) {
      if (edge.to == stage && At(done_, lane, edge.from) <= number) return "read before written";
      if (edge.from == stage && number >= At(done_, lane, edge.to) + edge.depth) {
        return "written before read";
      }
    }
    return "";
  }
  void Done(size_t lane, size_t stage) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++At(done_, lane, stage);
  }

 private:
  uint64_t& At(std::vector<uint64_t>& counts, size_t lane, size_t stage) {
    return counts[lane * shape_.stages + stage];
  }
  StreamShape shape_;
  std::mutex mutex_;
  std::vector<uint64_t> started_;
  std::vector<uint64_t> done_;
};

void Nap(std::mt19937_64& random, int most_microseconds) {
  const auto microseconds = static_cast<int>(random() % static_cast<uint64_t>(most_microseconds));
  if (microseconds % 4 == 0) return;
  std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
}

size_t Below(size_t bound, std::mt19937_64& random) {
  return static_cast<size_t>(random() % bound);
}

/// Any graph of rings over `stages`: some stages without input or output ring, rings with several
/// readers among them.
std::vector<StreamEdge> RandomEdges(size_t stages, std::mt19937_64& random) {
  std::vector<StreamEdge> edges;
  uint16_t channel = 0;
  for (uint16_t from = 0; from + 1U < stages; ++from) {
    for (auto to = static_cast<uint16_t>(from + 1); to < stages; ++to) {
      if (random() % 2 == 0) continue;
      const auto depth = static_cast<uint16_t>(1 + random() % 3);
      edges.push_back({from, to, depth, channel++});
    }
  }
  return edges;
}

/// Inputs go in and are collected on another thread, in the order of `collect`; stages nap, and
/// some fail. What went wrong, or empty.
std::string RunRandomStream(uint64_t seed, size_t inputs, int most_nap) {
  std::mt19937_64 random(seed);
  const size_t lanes = 1 + Below(3, random);
  const size_t stages = 1 + Below(5, random);
  const std::vector<StreamEdge> edges = RandomEdges(stages, random);
  const StreamShape shape = ShapeOf(lanes, stages, edges);
  std::string complaint;
  std::vector<std::atomic<uint32_t>> runs(inputs);
  const auto fails = [&](uint64_t id, size_t stage) {
    return (id * 2654435761U + stage * 40503U + seed) % 23 == 0;
  };
  FunctionWork work([&](size_t lane, size_t stage, uint64_t, uint64_t id) {
    thread_local std::mt19937_64 naps(seed + stage * 7 + lane);
    Nap(naps, most_nap);
    ++runs[static_cast<size_t>(id)];
    return fails(id, stage) ? Status(StatusCode::kBackendFailure, "stage {0} of input {1}",
                                     static_cast<int64_t>(stage), static_cast<int64_t>(id))
                            : OkStatus();
  });
  InputStream stream;
  REQUIRE(stream.Open(shape, &work).ok());
  std::vector<uint64_t> ids(inputs);
  std::vector<std::atomic<uint64_t>> tickets(inputs);
  std::thread producer([&] {
    for (size_t i = 0; i < inputs; ++i) {
      ids[i] = i;
      tickets[i] = SubmitId(stream, ids[i]);
    }
  });
  for (size_t i = 0; i < inputs; ++i) {
    while (tickets[i] == 0) std::this_thread::yield();
    const std::string outcome = WaitFor(stream, tickets[i]);
    bool should_fail = false;
    for (size_t stage = 0; stage < stages; ++stage) should_fail |= fails(i, stage);
    if (outcome.empty() == should_fail || tickets[i] != i + 1) {
      complaint = "input " + std::to_string(i) + ": " + outcome;
    }
  }
  producer.join();
  const StreamFigures figures = stream.Figures();
  if (figures.completed != inputs || figures.submitted != inputs) complaint = "inputs are lost";
  for (size_t i = 0; i < inputs; ++i) {
    bool should_fail = false;
    for (size_t stage = 0; stage < stages; ++stage) should_fail |= fails(i, stage);
    if (!should_fail && runs[i] != stages) complaint = "a stage ran too often or not at all";
    if (should_fail && runs[i] > stages) complaint = "a stage ran twice";
  }
  return complaint;
}

TEST_CASE("Stream: whatever the rings, stages keep order and rings keep their slots") {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const size_t lanes = 1 + static_cast<size_t>(seed % 3);
    const size_t stages = 2 + Below(5, random);
    const std::vector<StreamEdge> edges = RandomEdges(stages, random);
    const StreamShape shape = ShapeOf(lanes, stages, edges);
    Watcher watcher(shape);
    std::mutex mutex;
    std::string complaint;
    FunctionWork work([&](size_t lane, size_t stage, uint64_t number, uint64_t) {
      thread_local std::mt19937_64 naps(seed * 100 + stage);
      const std::string wrong = watcher.Start(lane, stage, number);
      Nap(naps, 60);
      watcher.Done(lane, stage);
      const std::lock_guard<std::mutex> lock(mutex);
      if (!wrong.empty()) complaint = wrong;
      return OkStatus();
    });
    InputStream stream;
    REQUIRE(stream.Open(shape, &work).ok());
    std::vector<uint64_t> ids(100);
    for (uint64_t& id : ids) SubmitId(stream, id);
    stream.Close();
    CHECK(complaint == "");
  }
}

TEST_CASE("Stream: with random naps and failures nothing is lost, doubled or swapped") {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    CHECK(RunRandomStream(seed, 300, 50) == "");
  }
}

TEST_CASE("Stream: tickets of one lane end in the order in which they were given") {
  FunctionWork work([](size_t, size_t stage, uint64_t number, uint64_t) {
    // The second stage would overtake the first if it could.
    if (stage == 0 && number % 5 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return OkStatus();
  });
  const std::vector<StreamEdge> edges = ChainOf(3, 3);
  InputStream stream;
  REQUIRE(stream.Open(ShapeOf(1, 3, edges), &work).ok());
  std::vector<uint64_t> ids(60);
  std::mutex mutex;
  std::vector<uint64_t> order;
  uint64_t ended = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    const uint64_t ticket = SubmitId(stream, ids[i]);
    // Whoever is over, everyone before is over too.
    for (uint64_t t = ended + 1; t <= ticket; ++t) {
      StreamOutcome outcome;
      if (!stream.Wait(t, 0, &outcome).ok()) break;
      CHECK(outcome.code == StatusCode::kOk);
      CHECK(t == ended + 1);
      ended = t;
    }
  }
  for (uint64_t t = ended + 1; t <= ids.size(); ++t) CHECK(WaitFor(stream, t) == "");
}

TEST_CASE("Stream: of two stages that fail for one input at once, the earlier one is reported") {
  for (int round = 0; round < 20; ++round) {
    FunctionWork work([&](size_t, size_t stage, uint64_t, uint64_t) {
      if (stage == static_cast<size_t>(round % 2)) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      return Status(StatusCode::kBackendFailure, "stage {0}", static_cast<int64_t>(stage));
    });
    InputStream stream;
    StreamShape shape = ShapeOf(1, 2, {});  // no ring: both start
    REQUIRE(stream.Open(shape, &work).ok());
    const uint64_t id = 0;
    const std::string outcome = WaitFor(stream, SubmitId(stream, id));
    // Where the second was done before the first began, the first was skipped.
    const bool first_ran = stream.FiguresOfStage(0, 0).failed == 1;
    CHECK(outcome == (first_ran ? "stage 0" : "stage 1"));
  }
}

TEST_CASE("Stream: an input that fails skips its later stages, and the others go on") {
  std::vector<uint64_t> ids(1000);
  std::atomic<int> last_stage_runs{0};
  FunctionWork work([&](size_t, size_t stage, uint64_t, uint64_t id) {
    if (stage == 2) ++last_stage_runs;
    return stage == 1 && id >= 500 && id < 510 ? Status(StatusCode::kBackendFailure, "unit lost")
                                               : OkStatus();
  });
  const std::vector<StreamEdge> edges = ChainOf(3, 2);
  StreamShape shape = ShapeOf(1, 3, edges);
  shape.results = ids.size();
  InputStream stream;
  REQUIRE(stream.Open(shape, &work).ok());
  for (size_t i = 0; i < ids.size(); ++i) {
    ids[i] = i;
    CHECK(SubmitId(stream, ids[i]) == i + 1);
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    CHECK(WaitFor(stream, i + 1) == (i >= 500 && i < 510 ? "unit lost" : ""));
  }
  CHECK(last_stage_runs == 990);
  CHECK(stream.FiguresOfStage(0, 1).failed == 10);
  CHECK(stream.FiguresOfStage(0, 2).inputs == 1000);
}

TEST_CASE("Stream: two streams at once do not disturb each other") {
  std::string complaints[2];
  std::thread other([&] { complaints[1] = RunRandomStream(101, 300, 30); });
  complaints[0] = RunRandomStream(100, 300, 30);
  other.join();
  CHECK(complaints[0] == "");
  CHECK(complaints[1] == "");
}

TEST_CASE("Stream: several threads hand in, each waits for its own") {
  FunctionWork work([](size_t, size_t, uint64_t, uint64_t id) {
    return Status(StatusCode::kBackendFailure, "{0}", static_cast<int64_t>(id));
  });
  InputStream stream;
  REQUIRE(stream.Open(ShapeOf(2, 1, {}), &work).ok());
  std::atomic<int> wrong{0};
  std::vector<std::thread> users;
  for (uint64_t user = 0; user < 4; ++user) {
    users.emplace_back([&, user] {
      for (uint64_t i = 0; i < 200; ++i) {
        const uint64_t id = user * 1000 + i;
        if (WaitFor(stream, SubmitId(stream, id)) != std::to_string(id)) ++wrong;
      }
    });
  }
  for (std::thread& user : users) user.join();
  CHECK(wrong == 0);
  CHECK(stream.Figures().completed == 800);
}

/// Minutes by TENON_SOAK_SECONDS; a moment otherwise.
TEST_CASE("Stream: a soak with random naps and failures") {
  const char* wanted = std::getenv("TENON_SOAK_SECONDS");
  const double seconds = wanted != nullptr ? std::atof(wanted) : 2;
  const Deadline end = InSeconds(seconds);
  uint64_t seed = 1000;
  while (MonotonicNow() < end) {
    CAPTURE(seed);
    REQUIRE(RunRandomStream(seed++, 500, 200) == "");
  }
  MESSAGE((seed - 1000) << " streams of 500 inputs in " << seconds << " s");
}

}  // namespace
}  // namespace tenon::test
