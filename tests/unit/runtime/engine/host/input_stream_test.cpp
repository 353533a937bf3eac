// What a stream promises to those who hand in and wait: limits, deadlines, outcomes, an end.
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <numeric>

#include "tests/unit/runtime/engine/host/stream_testing.hpp"

namespace tenon::test {
namespace {

/// Holds stages up until it is opened.
class Barrier {
 public:
  void Pass() {
    std::unique_lock<std::mutex> lock(mutex_);
    opened_.wait(lock, [this] { return is_open_; });
  }
  void Open() {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_open_ = true;
    opened_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool is_open_ = false;
};

/// Submits until that takes longer than a moment; how many went in.
size_t SubmitUntilFull(InputStream& stream, const std::vector<uint64_t>& ids) {
  for (size_t i = 0; i < ids.size(); ++i) {
    const void* input = &ids[i];
    uint64_t ticket = 0;
    const Status status = stream.Submit(&input, nullptr, InSeconds(0.1), &ticket);
    if (!status.ok()) {
      CHECK(status.code() == StatusCode::kDeadlineExceeded);
      return i;
    }
    CHECK(ticket == i + 1);
  }
  return ids.size();
}

std::vector<uint64_t> Ids(size_t count) {
  std::vector<uint64_t> ids(count);
  std::iota(ids.begin(), ids.end(), uint64_t{0});
  return ids;
}

TEST_CASE("Stream: submit waits at exactly what rings, lanes and queue hold") {
  struct Case {
    size_t lanes, stages;
    uint16_t depth;
    size_t queue, expected;
  };
  // A lane whose last stage is stuck holds the sum of the rings' depths, one without rings one.
  for (const Case& c : {Case{1, 1, 1, 0, 2}, Case{3, 1, 1, 0, 6}, Case{1, 2, 2, 0, 3},
                        Case{1, 3, 2, 1, 5}, Case{1, 4, 3, 4, 13}, Case{2, 2, 1, 5, 7}}) {
    CAPTURE(c.lanes);
    CAPTURE(c.stages);
    const std::vector<uint64_t> ids = Ids(50);
    Barrier barrier;
    FunctionWork work([&](size_t, size_t stage, uint64_t, uint64_t) {
      if (stage + 1 == c.stages) barrier.Pass();
      return OkStatus();
    });
    const std::vector<StreamEdge> edges = ChainOf(c.stages, c.depth);
    StreamShape shape = ShapeOf(c.lanes, c.stages, edges);
    shape.queue = c.queue;
    InputStream stream;
    REQUIRE(stream.Open(shape, &work).ok());
    CHECK(SubmitUntilFull(stream, ids) == c.expected);
    CHECK(stream.in_flight_limit() == c.expected);
    CHECK(stream.Figures().most_in_flight == c.expected);
    CHECK(stream.Figures().submit_stalls == 1);
    barrier.Open();
    for (uint64_t ticket = 1; ticket <= c.expected; ++ticket) CHECK(WaitFor(stream, ticket) == "");
  }
}

TEST_CASE("Stream: a submit that had to wait goes on as soon as an input is completed") {
  const std::vector<uint64_t> ids = Ids(4);
  Barrier barrier;
  FunctionWork work([&](size_t, size_t, uint64_t, uint64_t) {
    barrier.Pass();
    return OkStatus();
  });
  InputStream stream;
  REQUIRE(stream.Open(ShapeOf(1, 1, {}), &work).ok());
  SubmitId(stream, ids[0]);
  SubmitId(stream, ids[1]);
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    barrier.Open();
  });
  CHECK(SubmitId(stream, ids[2]) == 3);
  opener.join();
  CHECK(WaitFor(stream, 3) == "");
}

TEST_CASE("Stream: tickets can be waited for in any order, each once") {
  const std::vector<uint64_t> ids = Ids(40);
  FunctionWork work([](size_t, size_t, uint64_t, uint64_t id) {
    return id % 3 == 0 ? Status(StatusCode::kBackendFailure, "input {0}", static_cast<int64_t>(id))
                       : OkStatus();
  });
  InputStream stream;
  REQUIRE(stream.Open(ShapeOf(2, 1, {}), &work).ok());
  for (const uint64_t& id : ids) SubmitId(stream, id);
  for (size_t i = 0; i < ids.size(); ++i) {
    const size_t id = (i * 17 + 5) % ids.size();
    CHECK(WaitFor(stream, id + 1) == (id % 3 == 0 ? "input " + std::to_string(id) : ""));
  }
  StreamOutcome outcome;
  const auto complaint = [&](uint64_t ticket) {
    const Status status = stream.Wait(ticket, InSeconds(60), &outcome);
    CHECK(status.code() == StatusCode::kInvalidArgument);
    return TextOf(status);
  };
  CHECK(complaint(3) == "the outcome of ticket 3 has been given already");
  CHECK(complaint(41) == "ticket 41 was never given: 40 have been");
  CHECK(complaint(0) == "ticket 0 was never given: 40 have been");
  CHECK(stream.Figures().failed == 14);
}

TEST_CASE("Stream: a wait that ends before its input says so, and can be done again") {
  const uint64_t id = 7;
  Barrier barrier;
  FunctionWork work([&](size_t, size_t, uint64_t, uint64_t) {
    barrier.Pass();
    return Status(StatusCode::kDeadlineExceeded, "the device does not answer");
  });
  InputStream stream;
  REQUIRE(stream.Open(ShapeOf(1, 1, {}), &work).ok());
  const uint64_t ticket = SubmitId(stream, id);
  StreamOutcome outcome;
  const Status early = stream.Wait(ticket, InSeconds(0.02), &outcome);
  CHECK(TextOf(early) == "ticket 1 is not over yet: its memory is still in use; wait again");
  CHECK(early.code() == StatusCode::kDeadlineExceeded);
  barrier.Open();
  CHECK(WaitFor(stream, ticket) == "the device does not answer");
}

TEST_CASE("Stream: where nobody collects outcomes, submit says which ticket to wait for") {
  const std::vector<uint64_t> ids = Ids(9);
  FunctionWork work([](size_t, size_t, uint64_t, uint64_t) { return OkStatus(); });
  StreamShape shape = ShapeOf(1, 1, {});
  shape.results = 8;
  InputStream stream;
  REQUIRE(stream.Open(shape, &work).ok());
  for (size_t i = 0; i < 8; ++i) SubmitId(stream, ids[i]);
  const void* input = &ids[8];
  uint64_t ticket = 0;
  const Status status = stream.Submit(&input, nullptr, InSeconds(0.02), &ticket);
  CHECK(status.code() == StatusCode::kDeadlineExceeded);
  CHECK(TextOf(status) ==
        "nothing submitted: no room for another outcome; wait for ticket 1 first (8 are kept)");
  CHECK(ticket == 0);
  CHECK(WaitFor(stream, 1) == "");
  CHECK(SubmitId(stream, ids[8]) == 9);
}

TEST_CASE("Stream: closed while full, it completes what was handed in and ends") {
  const std::vector<uint64_t> ids = Ids(100);
  std::atomic<int> runs{0};
  FunctionWork work([&](size_t, size_t, uint64_t, uint64_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    ++runs;
    return OkStatus();
  });
  const std::vector<StreamEdge> edges = ChainOf(3, 2);
  InputStream stream;
  REQUIRE(stream.Open(ShapeOf(1, 3, edges), &work).ok());
  size_t submitted = 0;
  for (; submitted < ids.size(); ++submitted) {
    const void* input = &ids[submitted];
    uint64_t ticket = 0;
    if (!stream.Submit(&input, nullptr, 0, &ticket).ok()) break;
  }
  CHECK(submitted == stream.in_flight_limit());
  stream.Close();
  CHECK(runs == static_cast<int>(3 * submitted));
}

TEST_CASE("Stream: one that was opened and never used ends at once, and so does a closed one") {
  FunctionWork work([](size_t, size_t, uint64_t, uint64_t) { return OkStatus(); });
  const std::vector<StreamEdge> edges = ChainOf(4, 2);
  InputStream stream;
  REQUIRE(stream.Open(ShapeOf(3, 4, edges), &work).ok());
  stream.Close();
  stream.Close();
}

TEST_CASE("Stream: rings that lead back, nowhere, or have no slot are refused") {
  FunctionWork work([](size_t, size_t, uint64_t, uint64_t) { return OkStatus(); });
  for (const StreamEdge& edge :
       {StreamEdge{1, 0, 1, 0}, StreamEdge{1, 1, 1, 0}, StreamEdge{0, 2, 1, 0},
        StreamEdge{0, 1, 0, 0}, StreamEdge{0, 1, 1, 1}}) {
    const std::vector<StreamEdge> edges = {edge};
    InputStream stream;
    CHECK(stream.Open(ShapeOf(1, 2, edges), &work).code() == StatusCode::kInvalidArgument);
  }
  InputStream stream;
  CHECK_FALSE(stream.Open(ShapeOf(0, 1, {}), &work).ok());
  CHECK_FALSE(stream.Open(ShapeOf(1, 0, {}), &work).ok());
}

TEST_CASE("Stream: more room than anybody needs is refused, however much") {
  FunctionWork work([](size_t, size_t, uint64_t, uint64_t) { return OkStatus(); });
  for (const size_t count : {kMostQueued + 1, size_t{1} << 58, SIZE_MAX - 1, SIZE_MAX}) {
    CAPTURE(count);
    StreamShape shape = ShapeOf(1, 1, {});
    shape.queue = count;
    InputStream stream;
    CHECK(stream.Open(shape, &work).code() == StatusCode::kInvalidArgument);
    shape.queue = 0;
    shape.results = count;
    const Status status = stream.Open(shape, &work);
    CHECK(status.code() == StatusCode::kInvalidArgument);
    CHECK(TextOf(status).find("room for 1048576") != std::string::npos);
  }
  StreamShape shape = ShapeOf(1, 1, {});
  shape.queue = kMostQueued;
  InputStream stream;
  CHECK(stream.Open(shape, &work).ok());
}

TEST_CASE("Stream: figures tell busy, starved and blocked stages apart") {
  const std::vector<uint64_t> ids = Ids(20);
  FunctionWork work([](size_t, size_t stage, uint64_t, uint64_t) {
    if (stage == 1) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return OkStatus();
  });
  const std::vector<StreamEdge> edges = ChainOf(3, 1);
  InputStream stream;
  REQUIRE(stream.Open(ShapeOf(1, 3, edges), &work).ok());
  for (const uint64_t& id : ids) SubmitId(stream, id);
  for (uint64_t ticket = 1; ticket <= ids.size(); ++ticket) CHECK(WaitFor(stream, ticket) == "");
  constexpr uint64_t kSlow = 5'000'000;
  const StageFigures first = stream.FiguresOfStage(0, 0);
  const StageFigures slow = stream.FiguresOfStage(0, 1);
  const StageFigures last = stream.FiguresOfStage(0, 2);
  CHECK(first.inputs == 20);
  CHECK(slow.busy >= 20 * kSlow);
  CHECK(first.busy < slow.busy);
  CHECK(first.blocked > 10 * kSlow);
  CHECK(last.starved > 10 * kSlow);
  CHECK(last.blocked == 0);
  CHECK(stream.FiguresOfChannel(0).stalls >= 15);
  CHECK(stream.FiguresOfChannel(0).stalled == first.blocked);
  CHECK(stream.FiguresOfChannel(1).stalled < first.blocked / 4);  // its reader wakes up at times
}

}  // namespace
}  // namespace tenon::test
