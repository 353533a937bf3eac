// A stream of inputs through stages that work at the same time, each on a thread of its own.
//
// The stream has *lanes*: independent copies of one execution (replicas), each with the same
// *stages*. Each input goes to a lane that is free; inside a lane every stage takes them in
// order. A stage starts input n when every stage that it reads from has done n, and when every ring
// that it writes to has a slot left: slots are freed by the ring's readers (back-pressure). Nothing
// is dropped or overtaken inside a lane. Since rings only lead to later stages and have a slot at
// least, the last stage that is behind can always go on: there is no deadlock.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "runtime/backend_api/device.hpp"
#include "runtime/base/span.hpp"
#include "runtime/base/status.hpp"
#include "runtime/engine/host/thread.hpp"

namespace tenon {

/// Where one input's arrays are, by index of the program's inputs and outputs. The caller's memory.
struct StreamRequest {
  Span<const void*> inputs;
  Span<void*> outputs;
};

/// How one input ended.
struct StreamOutcome {
  StatusCode code = StatusCode::kOk;
  char text[200] = {};  ///< of the error, NUL-terminated
};

/// What the stages do. Stages of one lane, and lanes, run at the same time; one stage of one lane
/// never runs twice at once.
class StageWork {
 public:
  /// Runs `stage` for the input that is `number`-th (from 0) of all that `lane` was given. Returns
  /// when what it writes can be read; waits for devices must end (deadlines).
  virtual Status Run(size_t lane, size_t stage, uint64_t number, const StreamRequest& request) = 0;

 protected:
  ~StageWork() = default;
};

/// A ring of `depth` slots that stage `from` writes and stage `to`, a later one, reads. A ring with
/// several readers is several of these with the same `channel`.
struct StreamEdge {
  uint16_t from = 0;
  uint16_t to = 0;
  uint16_t depth = 1;
  uint16_t channel = 0;  ///< for figures
};

struct StreamShape {
  size_t lanes = 1;
  size_t stages = 1;
  Span<const StreamEdge> edges;
  size_t channels = 0;  ///< more than any edge's `channel`
  size_t inputs = 0;    ///< arrays per request
  size_t outputs = 0;
  size_t queue = 0;    ///< inputs that may wait for a lane; 0: one per lane; kMostQueued at most
  size_t results = 0;  ///< outcomes kept until collected; 0: 256. Never fewer than may be in flight
};

/// Bounds queue and outcomes each: memory is taken for all of them when a stream opens.
inline constexpr size_t kMostQueued = size_t{1} << 20;

inline constexpr size_t kMostStages = 64;

/// What a stage has done so far, in nanoseconds. Times of waits that are not over are not in it.
struct StageFigures {
  uint64_t inputs = 0;   ///< done, failed and skipped ones too
  uint64_t failed = 0;   ///< that failed in this stage
  uint64_t busy = 0;     ///< inside StageWork::Run
  uint64_t starved = 0;  ///< waited for the input, or for an earlier stage
  uint64_t blocked = 0;  ///< waited for a free slot in a ring that it writes
};

/// How often and how long the writer of a ring waited for a free slot, over all lanes.
struct ChannelFigures {
  uint64_t stalls = 0;
  uint64_t stalled = 0;  ///< nanoseconds
};

struct StreamFigures {
  uint64_t submitted = 0;
  uint64_t completed = 0;  ///< with a result or an error
  uint64_t failed = 0;
  uint64_t most_in_flight = 0;  ///< submitted and not completed, at once
  uint64_t submit_stalls = 0;   ///< submits that had to wait
};

class InputStream {
 public:
  InputStream() = default;
  InputStream(const InputStream&) = delete;
  InputStream& operator=(const InputStream&) = delete;
  ~InputStream() { Close(); }

  /// Starts lanes x stages threads. `work` and the shape's edges are borrowed until Close.
  /// Errors: kInvalidArgument (an edge that does not lead to a later stage, or without a slot; more
  /// than kMostQueued of something), kOutOfMemory.
  Status Open(const StreamShape& shape, StageWork* work);
  /// Waits until every input is completed, then ends the threads. No call may be under way.
  void Close();

  /// Hands in one input (arrays as in StreamShape; the pointers are copied) and gives its ticket,
  /// never 0. Waits while `in_flight_limit` inputs are in flight, or `results` outcomes have not
  /// been collected. Any thread. Errors: kDeadlineExceeded; then nothing was submitted.
  Status Submit(const void* const* inputs, void* const* outputs, Deadline deadline,
                uint64_t* ticket);

  /// Waits for the input with this ticket and gives its outcome, once. Any thread, any order.
  /// Errors: kDeadlineExceeded (not over yet: wait again); kInvalidArgument (no such ticket, or its
  /// outcome has been given already).
  Status Wait(uint64_t ticket, Deadline deadline, StreamOutcome* outcome);

  /// Submit waits when this many inputs are submitted and not completed: what rings and lanes hold
  /// plus the queue.
  [[nodiscard]] size_t in_flight_limit() const { return in_flight_limit_; }
  [[nodiscard]] size_t results() const { return result_count_; }

  /// Heap bytes that it holds: they do not change after Open.
  [[nodiscard]] size_t HeldBytes() const;

  [[nodiscard]] StreamFigures Figures() const;
  [[nodiscard]] StageFigures FiguresOfStage(size_t lane, size_t stage) const;
  [[nodiscard]] ChannelFigures FiguresOfChannel(size_t channel) const;

 private:
  /// Why a stage cannot start its next input: nothing is submitted; its lane is full; an earlier
  /// stage has not done it; a ring that it writes is full.
  enum class Obstacle : uint8_t { kNone, kQueueEmpty, kLaneFull, kNoData, kRingFull };
  enum class RecordState : uint8_t { kFree, kInFlight, kCompleted };

  /// One submitted input, until its outcome has been collected.
  struct Record {
    RecordState state = RecordState::kFree;
    uint64_t ticket = 0;
    StreamOutcome outcome;
    size_t failed_stage = 0;
    StreamRequest request;
  };

  struct Lane {
    uint64_t accepted = 0;                ///< inputs given to this lane
    uint64_t completed = 0;               ///< done by all stages
    std::unique_ptr<uint64_t[]> tickets;  ///< of accepted ones, a ring of `lane_capacity_`
  };

  /// One stage of one lane with its thread.
  struct Worker {
    InputStream* stream = nullptr;
    size_t lane = 0;
    size_t stage = 0;
    uint64_t done = 0;
    std::atomic<uint32_t> signal{0};      ///< grows when what it waits for may have happened
    Obstacle obstacle = Obstacle::kNone;  ///< what it waits for
    bool is_asleep = false;
    std::condition_variable wake;
    StageFigures figures;
    Thread thread;
  };

  Status Allocate();
  [[nodiscard]] Worker& WorkerOf(size_t lane, size_t stage) const {
    return workers_[lane * shape_.stages + stage];
  }
  [[nodiscard]] Record& RecordOf(uint64_t ticket) const {
    return records_[static_cast<size_t>(ticket % result_count_)];
  }

  void WorkerLoop(Worker& worker);
  bool AwaitInput(Worker& worker, std::unique_lock<std::mutex>& lock);
  void AwaitEndOf(Obstacle obstacle, size_t channel, Worker& worker,
                  std::unique_lock<std::mutex>& lock);
  [[nodiscard]] Obstacle WhatHinders(const Worker& worker, size_t* channel) const;
  void AwaitSignal(Worker& worker, std::unique_lock<std::mutex>& lock);
  void AcceptInput(size_t lane);
  bool FinishStage(Worker& worker, Record& record, const Status& status);
  bool CompleteInputs(size_t lane);
  static void Signal(Worker& worker);
  void SignalForInput();
  void SignalLane(size_t lane, Obstacle obstacle);
  void SignalNeighbours(const Worker& worker);

  StreamShape shape_;
  StageWork* work_ = nullptr;
  size_t lane_capacity_ = 1;
  size_t in_flight_limit_ = 1;
  size_t result_count_ = 0;

  mutable std::mutex mutex_;  ///< of everything below
  std::condition_variable room_;
  std::condition_variable completion_;
  std::unique_ptr<Lane[]> lanes_;
  std::unique_ptr<Worker[]> workers_;
  std::unique_ptr<Record[]> records_;
  std::unique_ptr<const void*[]> input_pointers_;
  std::unique_ptr<void*[]> output_pointers_;
  std::unique_ptr<ChannelFigures[]> channel_figures_;
  uint64_t accepted_ = 0;
  StreamFigures figures_;
  bool is_stopping_ = false;
};

}  // namespace tenon
