// tenon bench in its modes for streams: pipeline, replicas, inter.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <semaphore>
#include <thread>

#include "sdk/tools/bench.hpp"
#include "sdk/tools/plan_runner.hpp"
#include "sdk/tools/tool.hpp"
#include "sdk/tools/trace_recorder.hpp"

namespace tenon::tool {
namespace {

using Clock = std::chrono::steady_clock;
using Bytes = std::vector<std::byte>;

double Milliseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

tenon_stream_mode StreamModeOf(const std::string& mode) {
  if (mode == "pipeline") return TENON_STREAM_PIPELINE;
  if (mode == "inter") return TENON_STREAM_INTER;
  return TENON_STREAM_SEQUENTIAL;
}

Stream OpenStream(const Plan& plan, const BenchOptions& options,
                  const tenon_trace* trace = nullptr) {
  tenon_stream_options stream_options{};
  stream_options.mode = StreamModeOf(options.mode);
  stream_options.replicas = static_cast<size_t>(options.replicas);
  stream_options.queue_depth =
      3 * stream_options.replicas;  // one that is held up holds up no other
  stream_options.results = 1;       // as many as may be in flight: each then has outputs of its own
  stream_options.device_timeout_ns =
      static_cast<uint64_t>(options.device_timeout) * kNanosecondsPerSecond;
  stream_options.trace = trace;
  stream_options.notice = [](void*, const char* text) {
    std::fprintf(stderr, "tenon: %s; its ops run on the CPU\n",
                 text);  // one call: several threads may have one
  };
  Expected<Stream> stream = Stream::Open(plan, stream_options);
  if (!stream) FailWith(stream.error(), "bench");
  return std::move(*stream);
}

/// What inputs are read from, all the same, and where outputs go: a set for every input that may be
/// in flight.
struct Buffers {
  std::vector<Bytes> inputs;
  std::vector<std::vector<Bytes>> outputs;
  std::vector<const void*> input_addresses;
  std::vector<std::vector<void*>> output_addresses;
  size_t bytes = 0;

  Buffers(const Plan& plan, const BenchOptions& options, size_t in_flight) {
    for (NpyArray& input : ReadInputs(plan, options.inputs, Missing::kRandom)) {
      inputs.push_back(std::move(input.bytes));
      bytes += inputs.back().size();
    }
    outputs.resize(in_flight);
    output_addresses.resize(in_flight);
    for (size_t set = 0; set < in_flight; ++set) {
      for (size_t i = 0; i < plan.OutputCount(); ++i) {
        outputs[set].emplace_back(plan.Output(i).bytes);
        bytes += plan.Output(i).bytes;
      }
    }
    // Empty arrays have an address too.
    for (Bytes& input : inputs) {
      if (input.empty()) input.reserve(1);
      input_addresses.push_back(input.data());
    }
    for (size_t set = 0; set < in_flight; ++set) {
      for (Bytes& output : outputs[set]) {
        if (output.empty()) output.reserve(1);
        output_addresses[set].push_back(output.data());
      }
    }
  }
};

/// Totals of the stream so far, in milliseconds, over all replicas.
struct Totals {
  std::vector<StageTimes> stages;
  std::vector<ChannelStalls> channels;
};

/// When inputs went in and were over, and totals when the first `warmup` of them were.
struct Course {
  std::vector<Clock::time_point> submitted;
  std::vector<Clock::time_point> completed;
  Totals before;
};

Totals ReadTotals(const Stream& stream) {
  const tenon_stream_stats stats = stream.Stats();
  Totals totals;
  totals.stages.resize(stats.stages);
  for (size_t replica = 0; replica < stats.replicas; ++replica) {
    for (size_t i = 0; i < stats.stages; ++i) {
      const tenon_stage_stats stage = stream.StageStats(replica, i);
      totals.stages[i].name = stage.name;
      totals.stages[i].busy_ms += static_cast<double>(stage.busy_ns) / 1e6;
      totals.stages[i].starved_ms += static_cast<double>(stage.starved_ns) / 1e6;
      totals.stages[i].blocked_ms += static_cast<double>(stage.blocked_ns) / 1e6;
    }
  }
  for (size_t i = 0; i < stats.channels; ++i) {
    const tenon_channel_stats channel = stream.ChannelStats(i);
    totals.channels.push_back({channel.from, channel.to, channel.depth, channel.stalls,
                               static_cast<double>(channel.stalled_ns) / 1e6});
  }
  return totals;
}

/// Hands in `count` inputs as fast as the stream takes them; this thread collects. With `drains`,
/// the stream is empty between the first `warmup` ones and the others. Throws the first failure
/// once everything is over.
Course RunInputs(Stream& stream, Buffers& buffers, size_t warmup, size_t count, bool drains) {
  Course course;
  course.submitted.resize(count);
  course.completed.resize(count);
  course.before = ReadTotals(stream);
  std::counting_semaphore<> given(0);
  std::binary_semaphore is_empty(0);
  std::thread producer([&] {
    for (size_t i = 0; i < count; ++i) {
      if (drains && i == warmup && i > 0) is_empty.acquire();
      course.submitted[i] = Clock::now();
      void* const* outputs = buffers.output_addresses[i % buffers.output_addresses.size()].data();
      // It waits as long as it takes, and the buffers are right: there is no way to fail.
      if (!stream.Submit(buffers.input_addresses.data(), outputs)) std::abort();
      given.release();
    }
  });
  std::optional<Error> failure;
  for (size_t i = 0; i < count; ++i) {
    given.acquire();
    std::optional<Error> error = stream.Wait(i + 1);
    course.completed[i] = Clock::now();
    if (error.has_value() && !failure.has_value()) failure = error;
    if (i + 1 != warmup) continue;
    course.before = ReadTotals(stream);
    is_empty.release();
  }
  producer.join();
  if (failure.has_value()) FailWith(*failure, "bench");
  return course;
}

void AddFigures(const Totals& before, const Totals& after, size_t inputs, Measurement& result) {
  for (size_t i = 0; i < after.stages.size() && after.stages.size() > 1; ++i) {
    const auto count = static_cast<double>(inputs);
    const StageTimes& end = after.stages[i];
    const StageTimes& start = before.stages[i];
    result.stages.push_back({end.name, (end.busy_ms - start.busy_ms) / count,
                             (end.starved_ms - start.starved_ms) / count,
                             (end.blocked_ms - start.blocked_ms) / count});
  }
  for (size_t i = 0; i < after.channels.size(); ++i) {
    ChannelStalls channel = after.channels[i];
    channel.stalls -= before.channels[i].stalls;
    channel.stalled_ms -= before.channels[i].stalled_ms;
    result.channels.push_back(channel);
  }
}

}  // namespace

double Measurement::Bound() const {
  double slowest = 0;
  for (const StageTimes& stage : stages) slowest = std::max(slowest, stage.busy_ms);
  return slowest > 0 ? 1e3 / slowest : 0;
}

Measurement MeasureStream(const Plan& plan, const BenchOptions& options) {
  Stream stream = OpenStream(plan, options);
  const tenon_stream_stats stats = stream.Stats();
  Buffers buffers(plan, options, stats.in_flight_limit);
  Measurement result;
  result.stream_threads = stats.threads;
  for (size_t i = 0; i < plan.ArenaCount(); ++i) {
    result.memory[plan.Arena(i).space] += stats.replicas * plan.Arena(i).bytes;
  }
  result.memory[HeapSpace(plan)] +=
      plan.StateBytes() + plan.PackedBytes() + stats.other_bytes + buffers.bytes;

  // What is timed begins where the warm-up ends, with the stream full: its steady state. Few inputs
  // may be over by then: they begin with the stream empty.
  constexpr size_t kFillings = 4;
  const auto warmup = static_cast<size_t>(options.warmup);
  const auto inputs = static_cast<size_t>(options.iterations);
  const bool drains = warmup == 0 || inputs < kFillings * stats.in_flight_limit;
  const Course course = RunInputs(stream, buffers, warmup, warmup + inputs, drains);
  const Clock::time_point start = drains ? course.submitted[warmup] : course.completed[warmup - 1];
  for (size_t i = warmup; i < warmup + inputs; ++i) {
    result.latencies_ms.push_back(Milliseconds(course.completed[i] - course.submitted[i]));
  }
  std::sort(result.latencies_ms.begin(), result.latencies_ms.end());
  result.throughput =
      1e3 * static_cast<double>(inputs) / Milliseconds(course.completed.back() - start);
  AddFigures(course.before, ReadTotals(stream), inputs, result);
  return result;
}

void TraceStream(const Plan& plan, const BenchOptions& options, TraceRecorder& recorder) {
  const tenon_trace trace = recorder.hooks();
  Stream stream = OpenStream(plan, options, &trace);
  Buffers buffers(plan, options, stream.Stats().in_flight_limit);
  // Course is not needed: the recorder hears of every op.
  static_cast<void>(RunInputs(stream, buffers, 0, static_cast<size_t>(options.iterations), false));
}

}  // namespace tenon::tool
