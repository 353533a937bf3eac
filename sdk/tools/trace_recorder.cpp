#include "sdk/tools/trace_recorder.hpp"

#include <algorithm>
#include <chrono>
#include <map>

#include "sdk/tools/trace_file.hpp"

namespace tenon::tool {
namespace {

/// What this thread's clock said last: the runtime reads it right before it reports an op, so this
/// is when the op ended.
thread_local uint64_t last_reading = 0;

uint64_t ReadClock() {
  using std::chrono::steady_clock;
  const auto now = steady_clock::now().time_since_epoch();
  last_reading =
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  return last_reading;
}

}  // namespace

tenon_trace TraceRecorder::hooks() {
  tenon_trace trace{};
  trace.context = this;
  trace.record = [](void* context, size_t op, uint64_t nanoseconds) {
    static_cast<TraceRecorder*>(context)->Record(op, nanoseconds);
  };
  trace.clock_nanoseconds = [](void*) { return ReadClock(); };
  return trace;
}

void TraceRecorder::Record(size_t op, uint64_t nanoseconds) {
  const uint64_t start = last_reading - nanoseconds;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (ran_.size() < kMostEvents)
    ran_.push_back({std::this_thread::get_id(), op, start, nanoseconds});
}

std::string TraceRecorder::Json() const {
  uint64_t begin = UINT64_MAX;
  for (const Ran& ran : ran_) begin = std::min(begin, ran.start);
  std::map<std::string, std::map<std::thread::id, size_t>> threads_of_worker;
  std::vector<TraceEvent> events;
  events.reserve(ran_.size());
  for (const Ran& ran : ran_) {
    const tenon_op_info op = plan_->Op(ran.op);
    TraceEvent event;
    event.track = TrackName(op.worker, op.backend);
    auto& threads = threads_of_worker[event.track];
    const size_t number = threads.emplace(ran.thread, threads.size() + 1).first->second;
    if (number > 1) event.track += " #" + std::to_string(number);
    event.name = op.name;
    event.category = op.backend;
    event.start_us = static_cast<double>(ran.start - begin) / 1e3;
    event.us = static_cast<double>(ran.nanoseconds) / 1e3;
    event.details = {{"kind", op.kind}, {"kernel", op.kernel}, {"op", std::to_string(ran.op)}};
    events.push_back(std::move(event));
  }
  return TraceJson(events, "tenon, measured");
}

}  // namespace tenon::tool
