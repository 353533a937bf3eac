#include <new>

#include "runtime/engine/host/lane.hpp"
#include "runtime/engine/host/worker_set.hpp"
#include "runtime/engine/host/worker_team.hpp"

namespace tenon {
namespace {

class TeamLane final : public Lane {
 public:
  Status Open(const LoadedPlan& plan, bool is_first, bool idle_help) {
    TENON_RETURN_IF_ERROR(workers_.Open(plan, is_first, !idle_help));
    ResetStates();
    return team_.Open(plan, &workers_, /*stage=*/0, idle_help);
  }

  Status Run(size_t, uint64_t, const StreamRequest& request, const RunOptions& options) override {
    BindPorts(request, workers_.addresses(0));
    const Status status = team_.Run(options);
    if (status.ok()) workers_.addresses(0).KeepStates();
    return status;
  }
  void ResetStates() override { workers_.addresses(0).ResetStates(); }
  void SetNoticeSink(const NoticeSink& sink) override { workers_.SetNoticeSink(sink); }
  size_t extra_threads() const override { return team_.extra_threads(); }
  size_t ArenaBytes() const override { return workers_.ArenaBytes(); }
  size_t OtherBytes() const override { return sizeof *this + workers_.OtherBytes(); }

 private:
  WorkerSet workers_;
  WorkerTeam team_;  // ends before its workers
};

}  // namespace

Status OpenTeamLane(const LoadedPlan& plan, bool is_first, bool idle_help,
                    std::unique_ptr<Lane>* lane) {
  std::unique_ptr<TeamLane> made(new (std::nothrow) TeamLane());
  TENON_ENSURE(made != nullptr, kOutOfMemory, "no memory for a team");
  TENON_RETURN_IF_ERROR(made->Open(plan, is_first, idle_help));
  *lane = std::move(made);
  return OkStatus();
}

}  // namespace tenon
