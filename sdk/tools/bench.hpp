// Declares what `tenon bench` measures in each of its modes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "tenon/tenon.hpp"

namespace tenon::tool {

class TraceRecorder;

struct BenchOptions {
  std::string plan;
  std::vector<std::string> inputs;  ///< NAME=FILE.npy; the others hold random numbers
  std::vector<std::string> modes = {"sequential"};
  std::string mode = "sequential";  ///< the one of them that is being measured
  int iterations = 100;
  int warmup = 10;
  int threads = 0;         ///< in all; 0: one per processor
  int replicas = 0;        ///< 0: as many as threads in mode replicas, else 1
  int device_timeout = 0;  ///< seconds; 0: the runtime's own limit
  std::string json;
  std::string trace;  ///< file; empty: none is written
  bool per_op = false;
  bool portable = false;
};

/// Means per input, over the timed ones.
struct StageTimes {
  std::string name;
  double busy_ms = 0;
  double starved_ms = 0;
  double blocked_ms = 0;
};

struct ChannelStalls {
  size_t from = 0;
  size_t to = 0;
  size_t depth = 0;
  uint64_t stalls = 0;
  double stalled_ms = 0;
};

struct Measurement {
  std::vector<double> latencies_ms;                 ///< sorted
  double throughput = 0;                            ///< per second
  std::vector<double> op_ms;                        ///< per op, median over the traced runs
  double traced_ms = 0;                             ///< median of those runs as a whole
  std::vector<std::optional<double>> predicted_ms;  ///< per op, where the plan has it
  std::map<std::string, size_t> memory;             ///< peak writable bytes by memory space
  std::vector<StageTimes> stages;  ///< of one replica, mean over all; pipelines only
  std::vector<ChannelStalls> channels;
  size_t stream_threads = 0;  ///< 0: no stream

  [[nodiscard]] double Quantile(double q) const {
    const auto last = static_cast<double>(latencies_ms.size() - 1);
    return latencies_ms[static_cast<size_t>(q * last + 0.5)];
  }
  /// What a traced run takes beside its ops: the medians of the ops and this add up to the whole.
  [[nodiscard]] double BetweenOps() const {
    return traced_ms - std::accumulate(op_ms.begin(), op_ms.end(), 0.0);
  }
  /// What the slowest stage allows.
  [[nodiscard]] double Bound() const;
};

/// A stream of `options.iterations` inputs after `options.warmup` others, handed in as fast as it
/// takes them. Latencies are from hand-in to completion. Throws Failure.
[[nodiscard]] Measurement MeasureStream(const Plan& plan, const BenchOptions& options);

/// Traces half as many further runs, one input at a time, if the options ask for times of ops.
/// Throws Failure.
void TraceOps(const Plan& plan, Session& session, const BenchOptions& options, Measurement& result);

/// The table of ops, those that take longest first.
[[nodiscard]] std::string OpTable(const Plan& plan, const Measurement& result);

/// Hands further inputs to a stream of the same kind, for the times of each op on each thread.
void TraceStream(const Plan& plan, const BenchOptions& options, TraceRecorder& recorder);

/// The space that memory beside arenas is counted for.
[[nodiscard]] std::string HeapSpace(const Plan& plan);

}  // namespace tenon::tool
