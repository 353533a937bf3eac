// What calls on a stream share: waits that signals end, the arrays in flight, notices and figures.
#pragma once

#include <pybind11/pybind11.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "python/src/arrays.hpp"
#include "python/src/values.hpp"
#include "tenon/tenon.h"

namespace tenon::python {

/// Calls `wait(nanoseconds)`, which gives TENON_DEADLINE_EXCEEDED when they are over, with the
/// interpreter's lock released and for a moment at a time, so that Ctrl-C and other signals are
/// heard in between: a handler's exception ends the wait.
template <typename Wait>
tenon_status InSlices(uint64_t nanoseconds, Wait&& wait) {
  constexpr uint64_t kSlice = 100'000'000;
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  uint64_t left = nanoseconds;
  while (true) {
    const uint64_t slice = std::min(left, kSlice);
    tenon_status status = TENON_OK;
    {
      const pybind11::gil_scoped_release others_run;
      status = wait(slice);
    }
    if (status != TENON_DEADLINE_EXCEEDED || slice == left) return status;
    if (PyErr_CheckSignals() != 0) throw pybind11::error_already_set();
    if (nanoseconds == UINT64_MAX) continue;
    const auto gone = static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
    left = gone < nanoseconds ? nanoseconds - gone : 0;
  }
}

/// Counts a call that is under way, with the interpreter's lock held.
class Call {
 public:
  explicit Call(int& calls) : calls_(calls) { ++calls_; }
  ~Call() { --calls_; }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  int& calls_;
};

/// The arrays of one input, and who waits for it.
struct StreamArrays {
  std::vector<pybind11::array> inputs;
  std::vector<pybind11::array> outputs;
  int waiters = 0;
  bool is_over = false;
};
using InFlight = std::map<uint64_t, StreamArrays>;

[[nodiscard]] inline InFlight::node_type NodeOf(StreamArrays arrays) {
  InFlight one;
  one.emplace(0, std::move(arrays));
  return one.extract(one.begin());
}

/// One who waits for a ticket. Several threads may, and only the library knows who gets the
/// outcome: so the last of them to leave drops the arrays of a ticket that is over.
class Waiter {
 public:
  Waiter(InFlight& in_flight, uint64_t ticket)
      : in_flight_(in_flight), found_(in_flight.find(ticket)) {
    if (arrays() != nullptr) ++arrays()->waiters;
  }
  ~Waiter() {
    if (arrays() == nullptr || --arrays()->waiters > 0 || !arrays()->is_over) return;
    const InFlight::node_type dropped = in_flight_.extract(found_);  // goes when the map is whole
  }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  /// nullptr: the ticket is not in flight.
  [[nodiscard]] StreamArrays* arrays() {
    return found_ == in_flight_.end() ? nullptr : &found_->second;
  }
  void EndTicket() {
    if (arrays() != nullptr) arrays()->is_over = true;
  }

 private:
  InFlight& in_flight_;
  InFlight::iterator found_;
};

/// That a thread closes the stream. Others wait with the interpreter's lock released.
class Closing {
 public:
  void Begin() { Set(true); }
  void End() {
    Set(false);
    ended_.notify_all();
  }
  /// False: it has not ended in time.
  [[nodiscard]] bool AwaitEnd(uint64_t nanoseconds) {
    std::unique_lock<std::mutex> lock(mutex_);
    return ended_.wait_for(lock, std::chrono::nanoseconds(nanoseconds),
                           [this] { return !is_closing_; });
  }

 private:
  void Set(bool is_closing) {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_closing_ = is_closing;
  }

  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_closing_ = false;
};

/// The last notices of a stream. Its threads leave them here, since they must not wait for the
/// interpreter's lock: the thread that has it may be waiting for them.
class Notices {
 public:
  static void Keep(void* context, const char* text) {
    auto* self = static_cast<Notices*>(context);
    const std::lock_guard<std::mutex> lock(self->mutex_);
    if (self->texts_.size() == kMost) self->texts_.pop_front();
    self->texts_.emplace_back(text);
  }
  [[nodiscard]] pybind11::list List() {
    std::deque<std::string> texts;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      texts = texts_;
    }
    pybind11::list list;
    for (const std::string& text : texts) list.append(Words(text.c_str()));
    return list;
  }

 private:
  static constexpr size_t kMost = 64;
  std::mutex mutex_;
  std::deque<std::string> texts_;
};

/// The fields of tenon.StreamStats in their order (tenon/_api.py).
[[nodiscard]] inline pybind11::tuple StatsTuple(const tenon_stream* stream,
                                                const tenon_stream_stats& all) {
  pybind11::list stages;
  for (size_t i = 0; i < all.replicas * all.stages; ++i) {
    tenon_stage_stats one{};
    const size_t replica = i / all.stages;
    if (tenon_stream_get_stage_stats(stream, replica, i % all.stages, &one) != TENON_OK) continue;
    stages.append(pybind11::make_tuple(replica, Name(one.name), one.inputs, one.failed, one.busy_ns,
                                       one.starved_ns, one.blocked_ns));
  }
  pybind11::list channels;
  for (size_t i = 0; i < all.channels; ++i) {
    tenon_channel_stats one{};
    if (tenon_stream_get_channel_stats(stream, i, &one) != TENON_OK) continue;
    channels.append(pybind11::make_tuple(one.from, one.to, one.depth, one.stalls, one.stalled_ns));
  }
  return pybind11::make_tuple(all.replicas, all.threads, all.in_flight_limit, all.arena_bytes,
                              all.other_bytes, all.submitted, all.completed, all.failed,
                              all.most_in_flight, all.submit_stalls, stages, channels);
}

}  // namespace tenon::python
