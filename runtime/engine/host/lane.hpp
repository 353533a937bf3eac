// One copy of a program's execution: arenas, and what runs on them. A stream has one or more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/base/status.hpp"
#include "runtime/engine/host/host_memory.hpp"
#include "runtime/engine/host/input_stream.hpp"
#include "runtime/engine/host/lent_arenas.hpp"
#include "runtime/engine/loaded_plan.hpp"
#include "runtime/engine/run_options.hpp"

namespace tenon {

/// All arenas of a program, each at its own alignment: in one block, but for those that a device
/// lends.
class LaneArenas {
 public:
  /// `plan` is borrowed for the call. Errors: kOutOfMemory.
  Status Allocate(const LoadedPlan& plan);
  [[nodiscard]] const ArenaMemory* bases() const { return bases_.get(); }
  /// Returns the bytes of the arenas with all ring slots, without alignment padding.
  [[nodiscard]] size_t bytes() const { return bytes_; }
  /// Gives up the arenas unfreed, because a device may still write to them.
  void Leak() {
    memory_.Leak();
    lent_.Leak();
  }

 private:
  LentArenas lent_;
  HostMemory memory_;
  std::unique_ptr<ArenaMemory[]> bases_;
  size_t bytes_ = 0;
};

/// How a lane executes one input: in one go, or stage by stage. Different stages may run at the
/// same time, for different inputs.
class Lane {
 public:
  Lane() = default;
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  virtual ~Lane() = default;

  virtual size_t stages() const { return 1; }
  virtual Status Run(size_t stage, uint64_t number, const StreamRequest& request,
                     const RunOptions& options) = 0;
  /// Sets what the program keeps from input to input to what the model starts with. Between inputs.
  virtual void ResetStates() = 0;
  virtual void SetNoticeSink(const NoticeSink& sink) = 0;
  /// Threads that it has beside those of the stream.
  virtual size_t extra_threads() const { return 0; }
  /// Writable bytes: arenas; and states and what kernels and devices hold for this lane.
  virtual size_t ArenaBytes() const = 0;
  virtual size_t OtherBytes() const = 0;
};

/// The steps of all workers by turns on one thread. `plan` is borrowed by this and the next two.
/// One lane of a stream is the first: it uses the plan's threads for kernels, others make their
/// own. Errors: as Session::Open's; kOutOfMemory.
Status OpenSequentialLane(const LoadedPlan& plan, bool is_first, std::unique_ptr<Lane>* lane);

/// Each stage by itself, on the ring slots of its input; for programs of mode `pipeline`. A stage
/// with several workers has threads of its own for all but the first.
Status OpenPipelineLane(const LoadedPlan& plan, bool is_first, std::unique_ptr<Lane>* lane);

/// A thread per worker of the program, each going on as far as its waits allow. What they leave
/// open does not show in results: the plan check has proven that steps which may run at once share
/// no byte that one of them writes. With `idle_help` threads that wait take pieces of the others'
/// ops, and the plan's own threads are not used.
Status OpenTeamLane(const LoadedPlan& plan, bool is_first, bool idle_help,
                    std::unique_ptr<Lane>* lane);

}  // namespace tenon
