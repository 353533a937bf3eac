#include <new>

#include "runtime/engine/host/lane.hpp"
#include "runtime/engine/host/worker_set.hpp"

namespace tenon {
namespace {

class PipelineLane final : public Lane {
 public:
  Status Open(const LoadedPlan& plan, bool is_first) {
    return workers_.Open(plan, /*own_addresses=*/true, is_first);
  }

  size_t stages() const override { return workers_.count(); }
  Status Run(size_t stage, uint64_t number, const StreamRequest& request,
             const RunOptions& options) override {
    Addresses& addresses = workers_.addresses(stage);
    addresses.UseSlots(number);
    BindPorts(request, addresses);
    return workers_.run(stage).RunAll(options);
  }
  void ResetStates() override {}  // the plan check has proven that a pipeline keeps none
  void SetNoticeSink(const NoticeSink& sink) override { workers_.SetNoticeSink(sink); }
  size_t ArenaBytes() const override { return workers_.ArenaBytes(); }
  size_t OtherBytes() const override { return sizeof *this + workers_.OtherBytes(); }

 private:
  WorkerSet workers_;
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
