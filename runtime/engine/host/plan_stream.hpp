// A stream of inputs through a loaded plan: as a pipeline, by replicas, by teams of threads, and by
// replicas of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/engine/host/batch_run.hpp"
#include "runtime/engine/host/input_stream.hpp"
#include "runtime/engine/host/lane.hpp"
#include "runtime/engine/loaded_plan.hpp"
#include "runtime/engine/run_options.hpp"

namespace tenon {

/// How each replica executes an input.
enum class StreamMode : uint8_t {
  kSequential = 0,  ///< one thread does it all
  kPipeline = 1,    ///< a thread per stage; programs of mode `pipeline`
  kInter = 2,       ///< a thread per worker; other programs with several workers
  kInterIntra = 3,  ///< the same, and threads that wait share the ops of others
};

struct PlanStreamOptions {
  StreamMode mode = StreamMode::kSequential;
  size_t replicas = 1;  ///< of programs that keep state: 1
  size_t queue = 0;     ///< as in StreamShape
  size_t results = 0;   ///< as in StreamShape
  /// How long one stage may wait for its device, in nanoseconds.
  uint64_t device_timeout = kNoDeadline;
  NoticeSink notice;  ///< may be called from several threads at once
  /// Told how long every op took, on the stream's threads, several at once; `record` null: nobody.
  OpTimer timer;
};

class PlanStream final : private StageWork {
 public:
  PlanStream() = default;
  PlanStream(const PlanStream&) = delete;
  PlanStream& operator=(const PlanStream&) = delete;
  ~PlanStream() { Close(); }

  /// Constants and packed weights are the plan's; each replica has arenas and kernel states of its
  /// own. `plan` is borrowed until Close.
  /// Errors: kFailedPrecondition (the plan's program cannot be run in this mode: says how to get
  /// one that can); Session::Open's; kOutOfMemory.
  Status Open(const LoadedPlan& plan, const PlanStreamOptions& options);
  /// Completes every input that was handed in, then ends all threads.
  void Close();

  /// Sets what the program keeps from input to input to what the model starts with. Nobody may
  /// submit meanwhile. Errors: kFailedPrecondition (an input is under way).
  Status ResetStates();

  [[nodiscard]] InputStream& stream() { return stream_; }
  [[nodiscard]] const InputStream& stream() const { return stream_; }
  [[nodiscard]] BatchRun& batch() { return batch_; }
  [[nodiscard]] size_t replicas() const { return lane_count_; }
  [[nodiscard]] size_t stages() const { return lanes_[0]->stages(); }
  /// Rings per replica; none unless in a pipeline.
  [[nodiscard]] size_t channels() const { return channel_count_; }
  /// Counts the stream's threads, without those that kernels use (the plan's).
  [[nodiscard]] size_t threads() const;
  /// Writable bytes of all replicas, ring slots and everything; what the plan holds is not in it.
  [[nodiscard]] size_t ArenaBytes() const;
  [[nodiscard]] size_t OtherBytes() const;

 private:
  Status Run(size_t lane, size_t stage, uint64_t number, const StreamRequest& request) override;
  Status OpenLanes(const LoadedPlan& plan, const PlanStreamOptions& options);
  Status MakeEdges(const ProgramView& program);

  std::unique_ptr<std::unique_ptr<Lane>[]> lanes_;
  size_t lane_count_ = 0;
  std::unique_ptr<StreamEdge[]> edges_;
  size_t edge_count_ = 0;
  size_t channel_count_ = 0;
  uint64_t device_timeout_ = kNoDeadline;
  OpTimer timer_;
  BatchRun batch_;
  InputStream stream_;  // ends before what it runs
};

}  // namespace tenon
