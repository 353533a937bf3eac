#include "runtime/engine/host/input_stream.hpp"

#include <algorithm>
#include <new>

#include "runtime/engine/host/clock.hpp"

namespace tenon {
namespace {

constexpr size_t kDefaultResults = 256;
/// How long a stage looks out for its next input before it sleeps: about what sleeping and waking
/// cost, so that no more than twice the least is spent.
constexpr uint64_t kSpinNanoseconds = 30'000;
constexpr int kSpinsPerLook = 64;

template <typename T>
bool MakeArray(std::unique_ptr<T[]>& array, size_t count) {
  array.reset(new (std::nothrow) T[count]());
  return array != nullptr;
}

Status CheckShape(const StreamShape& shape) {
  TENON_ENSURE(shape.lanes > 0 && shape.stages > 0 && shape.stages <= kMostStages, kInvalidArgument,
               "a stream of {0} lanes and {1} stages: at least one, and {2} stages at most",
               static_cast<int64_t>(shape.lanes), static_cast<int64_t>(shape.stages),
               static_cast<int64_t>(kMostStages));
  const auto shown = [](size_t count) {
    return static_cast<int64_t>(std::min<size_t>(count, INT64_MAX));
  };
  TENON_ENSURE(std::max(shape.queue, shape.results) <= kMostQueued, kInvalidArgument,
               "a queue of {0} inputs, {1} outcomes kept: a stream has room for {2} of each",
               shown(shape.queue), shown(shape.results), shown(kMostQueued));
  for (const StreamEdge& edge : shape.edges) {
    TENON_ENSURE(edge.from < edge.to && edge.to < shape.stages && edge.depth > 0 &&
                     edge.channel < shape.channels,
                 kInvalidArgument, "a ring of {2} slots from stage {0} to stage {1}", edge.from,
                 edge.to, edge.depth);
  }
  return OkStatus();
}

/// The most inputs that a lane holds when its last stages are stuck at their first: every other
/// stage gets on by each ring's depth beyond what the ring's reader has done.
size_t LaneCapacity(const StreamShape& shape) {
  uint64_t done[kMostStages] = {};
  uint64_t most = 1;
  for (size_t stage = shape.stages; stage > 0; --stage) {
    uint64_t limit = UINT64_MAX;
    for (const StreamEdge& edge : shape.edges) {
      if (edge.from == stage - 1) limit = std::min(limit, done[edge.to] + edge.depth);
    }
    done[stage - 1] = limit == UINT64_MAX ? 0 : limit;
    most = std::max(most, done[stage - 1]);
  }
  return static_cast<size_t>(most);
}

}  // namespace

Status InputStream::Open(const StreamShape& shape, StageWork* work) {
  TENON_RETURN_IF_ERROR(CheckShape(shape));
  shape_ = shape;
  work_ = work;
  lane_capacity_ = LaneCapacity(shape);
  in_flight_limit_ = shape.lanes * lane_capacity_ + (shape.queue > 0 ? shape.queue : shape.lanes);
  result_count_ = std::max(shape.results > 0 ? shape.results : kDefaultResults, in_flight_limit_);
  TENON_RETURN_IF_ERROR(Allocate());
  for (size_t i = 0; i < shape.lanes * shape.stages; ++i) {
    Worker& worker = workers_[i];
    worker.stream = this;
    worker.lane = i / shape.stages;
    worker.stage = i % shape.stages;
    const Status status = worker.thread.Start(
        [](void* context) {
          auto* self = static_cast<Worker*>(context);
          self->stream->WorkerLoop(*self);
        },
        &worker);
    if (!status.ok()) {
      Close();
      return status;
    }
  }
  return OkStatus();
}

Status InputStream::Allocate() {
  const bool has_memory = MakeArray(lanes_, shape_.lanes) &&
                          MakeArray(workers_, shape_.lanes * shape_.stages) &&
                          MakeArray(records_, result_count_) &&
                          MakeArray(input_pointers_, result_count_ * shape_.inputs) &&
                          MakeArray(output_pointers_, result_count_ * shape_.outputs) &&
                          MakeArray(channel_figures_, shape_.channels);
  bool has_rings = has_memory;
  for (size_t i = 0; has_rings && i < shape_.lanes; ++i) {
    has_rings = MakeArray(lanes_[i].tickets, lane_capacity_);
  }
  TENON_ENSURE(has_rings, kOutOfMemory, "no memory for a stream that keeps {0} outcomes",
               static_cast<int64_t>(result_count_));
  for (size_t i = 0; i < result_count_; ++i) {
    records_[i].request.inputs = {input_pointers_.get() + i * shape_.inputs, shape_.inputs};
    records_[i].request.outputs = {output_pointers_.get() + i * shape_.outputs, shape_.outputs};
  }
  return OkStatus();
}

void InputStream::Close() {
  if (workers_ == nullptr) return;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    completion_.wait(lock, [this] { return figures_.completed == figures_.submitted; });
    is_stopping_ = true;
    for (size_t i = 0; i < shape_.lanes * shape_.stages; ++i) Signal(workers_[i]);
  }
  // All threads end before the first worker is freed, since they look at each other.
  for (size_t i = 0; i < shape_.lanes * shape_.stages; ++i) workers_[i].thread.Join();
  workers_.reset();
}

Status InputStream::Submit(const void* const* inputs, void* const* outputs, Deadline deadline,
                           uint64_t* ticket) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto next_record = [this]() -> Record& { return RecordOf(figures_.submitted + 1); };
  const auto is_full = [this] {
    return figures_.submitted - figures_.completed >= in_flight_limit_;
  };
  const auto has_room = [&] { return !is_full() && next_record().state == RecordState::kFree; };
  if (!has_room()) {
    ++figures_.submit_stalls;
    if (!room_.wait_until(lock, TimePointOf(deadline), has_room)) {
      if (is_full()) {
        return Status(StatusCode::kDeadlineExceeded,
                      "nothing submitted: none of the {0} inputs in flight was completed in time",
                      static_cast<int64_t>(in_flight_limit_));
      }
      return Status(
          StatusCode::kDeadlineExceeded,
          "nothing submitted: no room for another outcome; wait for ticket {0} first ({1} "
          "are kept)",
          static_cast<int64_t>(next_record().ticket), static_cast<int64_t>(result_count_));
    }
  }
  Record& record = next_record();
  const uint64_t next = figures_.submitted + 1;
  record.state = RecordState::kInFlight;
  record.ticket = next;
  record.outcome = StreamOutcome();
  std::copy_n(inputs, shape_.inputs, record.request.inputs.data());
  std::copy_n(outputs, shape_.outputs, record.request.outputs.data());
  figures_.submitted = next;
  figures_.most_in_flight = std::max(figures_.most_in_flight, next - figures_.completed);
  SignalForInput();
  *ticket = next;
  return OkStatus();
}

Status InputStream::Wait(uint64_t ticket, Deadline deadline, StreamOutcome* outcome) {
  std::unique_lock<std::mutex> lock(mutex_);
  TENON_ENSURE(ticket > 0 && ticket <= figures_.submitted, kInvalidArgument,
               "ticket {0} was never given: {1} have been", static_cast<int64_t>(ticket),
               static_cast<int64_t>(figures_.submitted));
  Record& record = RecordOf(ticket);
  const auto is_gone = [&] {
    return record.ticket != ticket || record.state == RecordState::kFree;
  };
  const bool in_time = completion_.wait_until(lock, TimePointOf(deadline), [&] {
    return is_gone() || record.state == RecordState::kCompleted;
  });
  TENON_ENSURE(in_time, kDeadlineExceeded,
               "ticket {0} is not over yet: its memory is still in use; wait again",
               static_cast<int64_t>(ticket));
  TENON_ENSURE(!is_gone(), kInvalidArgument, "the outcome of ticket {0} has been given already",
               static_cast<int64_t>(ticket));
  record.state = RecordState::kFree;
  *outcome = record.outcome;
  lock.unlock();
  room_.notify_all();
  return OkStatus();
}

void InputStream::WorkerLoop(Worker& worker) {
  Lane& lane = lanes_[worker.lane];
  std::unique_lock<std::mutex> lock(mutex_);
  while (AwaitInput(worker, lock)) {
    const uint64_t number = worker.done;
    Record& record = RecordOf(lane.tickets[static_cast<size_t>(number % lane_capacity_)]);
    Status status;
    // An input that has failed in another stage has nothing to work on here.
    if (record.outcome.code == StatusCode::kOk) {
      lock.unlock();
      const Deadline start = MonotonicNow();
      status = work_->Run(worker.lane, worker.stage, number, record.request);
      const Deadline busy = MonotonicNow() - start;
      lock.lock();
      worker.figures.busy += busy;
    }
    if (!FinishStage(worker, record, status)) continue;
    // This is not done under the lock, which those who wake up need at once.
    lock.unlock();
    completion_.notify_all();
    room_.notify_all();
    lock.lock();
  }
}

/// Waits until the worker's next input can be started. False: the stream ends.
bool InputStream::AwaitInput(Worker& worker, std::unique_lock<std::mutex>& lock) {
  while (true) {
    size_t channel = 0;
    const Obstacle obstacle = WhatHinders(worker, &channel);
    if (obstacle == Obstacle::kNone) break;
    if (is_stopping_) return false;
    AwaitEndOf(obstacle, channel, worker, lock);
  }
  if (worker.done == lanes_[worker.lane].accepted) AcceptInput(worker.lane);
  return true;
}

void InputStream::AwaitEndOf(Obstacle obstacle, size_t channel, Worker& worker,
                             std::unique_lock<std::mutex>& lock) {
  const Deadline start = MonotonicNow();
  size_t still_channel = channel;
  do {
    worker.obstacle = obstacle;
    AwaitSignal(worker, lock);
  } while (!is_stopping_ && WhatHinders(worker, &still_channel) == obstacle &&
           still_channel == channel);
  worker.obstacle = Obstacle::kNone;
  const Deadline waited = MonotonicNow() - start;
  if (obstacle != Obstacle::kRingFull) {
    worker.figures.starved += waited;
    return;
  }
  worker.figures.blocked += waited;
  ++channel_figures_[channel].stalls;
  channel_figures_[channel].stalled += waited;
}

InputStream::Obstacle InputStream::WhatHinders(const Worker& worker, size_t* channel) const {
  const Lane& lane = lanes_[worker.lane];
  const uint64_t number = worker.done;
  for (const StreamEdge& edge : shape_.edges) {
    if (edge.to == worker.stage && WorkerOf(worker.lane, edge.from).done <= number) {
      return Obstacle::kNoData;
    }
  }
  for (const StreamEdge& edge : shape_.edges) {
    if (edge.from == worker.stage && WorkerOf(worker.lane, edge.to).done + edge.depth <= number) {
      *channel = edge.channel;
      return Obstacle::kRingFull;
    }
  }
  if (number < lane.accepted) return Obstacle::kNone;
  if (lane.accepted - lane.completed >= lane_capacity_) return Obstacle::kLaneFull;
  return accepted_ < figures_.submitted ? Obstacle::kNone : Obstacle::kQueueEmpty;
}

/// Waits for the next signal: looks out for it for a moment, since waking a thread that sleeps
/// takes longer than most hand-overs should.
void InputStream::AwaitSignal(Worker& worker, std::unique_lock<std::mutex>& lock) {
  const uint32_t seen = worker.signal.load(std::memory_order_relaxed);
  const auto has_signal = [&] { return worker.signal.load(std::memory_order_relaxed) != seen; };
  lock.unlock();
  const Deadline end = MonotonicNow() + kSpinNanoseconds;
  while (!has_signal() && MonotonicNow() < end) {
    for (int i = 0; i < kSpinsPerLook && !has_signal(); ++i) SpinPause();
  }
  lock.lock();
  worker.is_asleep = true;
  worker.wake.wait(lock, has_signal);
  worker.is_asleep = false;
}

void InputStream::AcceptInput(size_t lane_index) {
  Lane& lane = lanes_[lane_index];
  lane.tickets[static_cast<size_t>(lane.accepted % lane_capacity_)] = ++accepted_;
  ++lane.accepted;
  SignalLane(lane_index, Obstacle::kQueueEmpty);
  if (accepted_ < figures_.submitted) SignalForInput();
}

/// Signalling one is enough: whoever accepts the input signals the rest of its lane.
void InputStream::SignalForInput() {
  for (size_t i = 0; i < shape_.lanes * shape_.stages; ++i) {
    if (workers_[i].obstacle != Obstacle::kQueueEmpty) continue;
    Signal(workers_[i]);
    return;
  }
}

/// True if that completed inputs.
bool InputStream::FinishStage(Worker& worker, Record& record, const Status& status) {
  ++worker.figures.inputs;
  if (!status.ok()) {
    ++worker.figures.failed;
    // Stages of one input may run at once: which error it ends with does not depend on the clock.
    StreamOutcome& outcome = record.outcome;
    if (outcome.code == StatusCode::kOk || worker.stage < record.failed_stage) {
      outcome.code = status.code();
      status.Format(Span<char>(outcome.text, sizeof outcome.text));
      record.failed_stage = worker.stage;
    }
  }
  ++worker.done;
  SignalNeighbours(worker);
  return CompleteInputs(worker.lane);
}

bool InputStream::CompleteInputs(size_t lane_index) {
  Lane& lane = lanes_[lane_index];
  uint64_t completed = WorkerOf(lane_index, 0).done;
  for (size_t stage = 1; stage < shape_.stages; ++stage) {
    completed = std::min(completed, WorkerOf(lane_index, stage).done);
  }
  if (completed == lane.completed) return false;
  for (; lane.completed < completed; ++lane.completed) {
    Record& record = RecordOf(lane.tickets[static_cast<size_t>(lane.completed % lane_capacity_)]);
    record.state = RecordState::kCompleted;
    ++figures_.completed;
    figures_.failed += record.outcome.code == StatusCode::kOk ? 0 : 1;
  }
  SignalLane(lane_index, Obstacle::kLaneFull);
  return true;
}

void InputStream::Signal(Worker& worker) {
  worker.obstacle = Obstacle::kNone;  // one signal is enough until it has looked
  worker.signal.fetch_add(1, std::memory_order_relaxed);
  if (worker.is_asleep) worker.wake.notify_one();
}

/// Signals the workers of the lane that wait for `obstacle` to go away.
void InputStream::SignalLane(size_t lane, Obstacle obstacle) {
  for (size_t stage = 0; stage < shape_.stages; ++stage) {
    Worker& worker = WorkerOf(lane, stage);
    if (worker.obstacle == obstacle) Signal(worker);
  }
}

void InputStream::SignalNeighbours(const Worker& worker) {
  for (const StreamEdge& edge : shape_.edges) {
    if (edge.from == worker.stage) {
      Worker& reader = WorkerOf(worker.lane, edge.to);
      if (reader.obstacle == Obstacle::kNoData) Signal(reader);
    } else if (edge.to == worker.stage) {
      Worker& writer = WorkerOf(worker.lane, edge.from);
      if (writer.obstacle == Obstacle::kRingFull) Signal(writer);
    }
  }
}

size_t InputStream::HeldBytes() const {
  const size_t per_record = sizeof(Record) + (shape_.inputs + shape_.outputs) * sizeof(void*);
  return shape_.lanes * (sizeof(Lane) + lane_capacity_ * sizeof(uint64_t)) +
         shape_.lanes * shape_.stages * sizeof(Worker) + result_count_ * per_record +
         shape_.channels * sizeof(ChannelFigures);
}

StreamFigures InputStream::Figures() const {
  const std::unique_lock<std::mutex> lock(mutex_);
  return figures_;
}

StageFigures InputStream::FiguresOfStage(size_t lane, size_t stage) const {
  const std::unique_lock<std::mutex> lock(mutex_);
  return WorkerOf(lane, stage).figures;
}

ChannelFigures InputStream::FiguresOfChannel(size_t channel) const {
  const std::unique_lock<std::mutex> lock(mutex_);
  return channel_figures_[channel];
}

}  // namespace tenon
