#include <new>

#include "runtime/engine/host/kernel_threads.hpp"
#include "runtime/engine/host/lane.hpp"
#include "runtime/engine/session.hpp"

namespace tenon {
namespace {

constexpr size_t kStateAlignment = 64;

class SequentialLane final : public Lane {
 public:
  /// If a device still works on the arenas, they are never freed.
  ~SequentialLane() override {
    if (!is_open_ || session_.Close()) return;
    arenas_.Leak();
    state_.Leak();
  }

  Status Open(const LoadedPlan& plan, bool is_first) {
    TENON_RETURN_IF_ERROR(arenas_.Allocate(plan));
    const size_t bytes = Session::StateBytes(plan);
    TENON_ENSURE(state_.Allocate(bytes, kStateAlignment), kOutOfMemory,
                 "no memory for a session's state of {0} bytes", static_cast<int64_t>(bytes));
    is_open_ = true;  // Close is due even where Open fails
    TENON_RETURN_IF_ERROR(session_.Open(plan, state_.bytes(), arenas_.bases()));
    if (plan.threads() > 1 && !is_first) kernel_threads_.Make(plan);
    session_.SetRunners(kernel_threads_.runners());
    return OkStatus();
  }

  Status Run(size_t, uint64_t, const StreamRequest& request, const RunOptions& options) override {
    for (size_t i = 0; i < request.inputs.size(); ++i) {
      // The plan check has proven that no op writes to an input's storage.
      session_.BindInput(i, const_cast<void*>(request.inputs[i]));
    }
    for (size_t i = 0; i < request.outputs.size(); ++i) {
      session_.BindOutput(i, request.outputs[i]);
    }
    return session_.Run(options);
  }
  void ResetStates() override { session_.ResetStates(); }
  void SetNoticeSink(const NoticeSink& sink) override { session_.SetNoticeSink(sink); }
  size_t ArenaBytes() const override { return arenas_.bytes(); }
  size_t OtherBytes() const override {
    return sizeof *this + state_.bytes().size() + session_.PackedBytes();
  }

 private:
  LaneArenas arenas_;
  HostMemory state_;
  KernelThreads kernel_threads_;
  Session session_;
  bool is_open_ = false;
};

}  // namespace

Status OpenSequentialLane(const LoadedPlan& plan, bool is_first, std::unique_ptr<Lane>* lane) {
  std::unique_ptr<SequentialLane> made(new (std::nothrow) SequentialLane());
  TENON_ENSURE(made != nullptr, kOutOfMemory, "no memory for a session");
  TENON_RETURN_IF_ERROR(made->Open(plan, is_first));
  *lane = std::move(made);
  return OkStatus();
}

}  // namespace tenon
