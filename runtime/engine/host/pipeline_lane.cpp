#include <new>

#include "runtime/engine/host/lane.hpp"
#include "runtime/engine/host/worker_set.hpp"
#include "runtime/engine/host/worker_team.hpp"

namespace tenon {
namespace {

class PipelineLane final : public Lane {
 public:
  Status Open(const LoadedPlan& plan, bool is_first) {
    TENON_RETURN_IF_ERROR(workers_.Open(plan, is_first));
    stages_ = plan.stages();
    teams_.reset(new (std::nothrow) WorkerTeam[stages_]());
    TENON_ENSURE(teams_ != nullptr, kOutOfMemory, "no memory for {0} stages",
                 static_cast<int64_t>(stages_));
    for (size_t stage = 0; stage < stages_; ++stage) {
      TENON_RETURN_IF_ERROR(teams_[stage].Open(plan, &workers_, stage, /*idle_help=*/false));
    }
    return OkStatus();
  }

  size_t stages() const override { return stages_; }
  Status Run(size_t stage, uint64_t number, const StreamRequest& request,
             const RunOptions& options) override {
    Addresses& addresses = workers_.addresses(stage);
    addresses.UseSlots(number);
    BindPorts(request, addresses);
    return teams_[stage].Run(options);
  }
  void ResetStates() override {}  // the plan check has proven that a pipeline keeps none
  void SetNoticeSink(const NoticeSink& sink) override { workers_.SetNoticeSink(sink); }
  size_t ArenaBytes() const override { return workers_.ArenaBytes(); }
  size_t extra_threads() const override {
    size_t threads = 0;
    for (size_t stage = 0; stage < stages_; ++stage) threads += teams_[stage].extra_threads();
    return threads;
  }
  size_t OtherBytes() const override {
    return sizeof *this + stages_ * sizeof(WorkerTeam) + workers_.OtherBytes();
  }

 private:
  WorkerSet workers_;
  size_t stages_ = 0;
  std::unique_ptr<WorkerTeam[]> teams_;  ///< by stage; end before their workers
};

}  // namespace

Status OpenPipelineLane(const LoadedPlan& plan, bool is_first, std::unique_ptr<Lane>* lane) {
  std::unique_ptr<PipelineLane> made(new (std::nothrow) PipelineLane());
  TENON_ENSURE(made != nullptr, kOutOfMemory, "no memory for a pipeline");
  TENON_RETURN_IF_ERROR(made->Open(plan, is_first));
  *lane = std::move(made);
  return OkStatus();
}

}  // namespace tenon
