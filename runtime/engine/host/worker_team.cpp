#include "runtime/engine/host/worker_team.hpp"

#include <new>

#include "runtime/engine/host/clock.hpp"

namespace tenon {
namespace {

constexpr uint64_t kSpinNanoseconds = 30'000;
constexpr int kSpinsPerLook = 64;

}  // namespace

Status WorkerTeam::Open(const LoadedPlan& plan, WorkerSet* workers, size_t stage, bool idle_help) {
  plan_ = &plan;
  workers_ = workers;
  has_help_ = idle_help;
  size_t own[kMaxWorkers] = {};
  for (size_t worker = 0; worker < workers->count(); ++worker) {
    if (plan.stage_of_worker(worker) == stage) own[count_++] = worker;
  }
  const auto threads = static_cast<size_t>(plan.threads());
  const size_t members = idle_help && threads > count_ ? threads : count_;
  members_.reset(new (std::nothrow) Member[members]());
  TENON_ENSURE(members_ != nullptr, kOutOfMemory, "no memory for a team of {0}",
               static_cast<int64_t>(members));
  for (size_t i = 0; i < count_; ++i) {
    members_[i].worker = own[i];
    member_of_worker_[own[i]] = &members_[i];
  }
  if (idle_help) ShareOps(members);
  for (; started_ < members; ++started_) {
    Member& member = members_[started_];
    member.team = this;
    if (started_ == 0) continue;
    TENON_RETURN_IF_ERROR(member.thread.Start(
        [](void* context) {
          auto* self = static_cast<Member*>(context);
          self->team->MemberLoop(*self);
        },
        &member));
  }
  return OkStatus();
}

void WorkerTeam::ShareOps(size_t threads) {
  const ParallelRunner runner = help_.Runner(
      threads, [](void* team) { static_cast<WorkerTeam*>(team)->Wake(); }, this);
  for (size_t i = 0; i <= kMaxBackends; ++i) {
    const Backend* backend = plan_->backend(i);
    if (backend != nullptr && backend->make_runner != nullptr) runners_[i] = runner;
  }
  for (size_t i = 0; i < count_; ++i) workers_->run(members_[i].worker).SetRunners(runners_);
}

void WorkerTeam::Close() {
  is_stopping_ = true;
  Wake();
  for (size_t i = 1; i < started_; ++i) members_[i].thread.Join();
  count_ = started_ = 0;
}

Status WorkerTeam::Run(const RunOptions& options) {
  options_ = options;
  has_failed_ = false;
  for (size_t i = 0; i < count_; ++i) members_[i].done = 0;
  busy_ = count_ - 1;
  ++round_;
  Wake();
  Execute(members_[0]);
  AwaitOrHelp([this] { return busy_ == 0; });
  for (size_t i = 0; i < count_; ++i) TENON_RETURN_IF_ERROR(members_[i].status);
  return OkStatus();
}

void WorkerTeam::HelperLoop() {
  for (;;) {
    Await([this] { return help_.HasWork() || is_stopping_; });
    if (is_stopping_) return;
    help_.Help();
  }
}

void WorkerTeam::MemberLoop(Member& member) {
  if (member.worker == kHelper) return HelperLoop();
  for (uint64_t round = 1;; ++round) {
    AwaitOrHelp([&] { return round_ >= round || is_stopping_; });
    if (is_stopping_) return;
    Execute(member);
    --busy_;
    Wake();
  }
}

/// Once a worker has failed, the others stop, since what they would wait for may never happen. One
/// that has not even begun, as its device is not used any more, has nothing under way.
void WorkerTeam::Execute(Member& member) {
  member.status = workers_->run(member.worker).Begin(options_);
  const bool has_begun = member.status.ok();
  if (has_begun) member.status = ExecuteSteps(member);
  if (!member.status.ok()) {
    has_failed_ = true;
    Wake();
  }
  if (has_failed_ && has_begun) workers_->run(member.worker).Abandon();
}

Status WorkerTeam::ExecuteSteps(Member& member) {
  WorkerRun& run = workers_->run(member.worker);
  while (!run.all_started()) {
    const size_t step = run.started();
    if (!AreWaitsMet(member, step)) {
      // Others may wait for what this worker's device does before they can meet this wait.
      TENON_RETURN_IF_ERROR(TellWhatIsDone(member));
      AwaitOrHelp([&] { return AreWaitsMet(member, step) || has_failed_; });
    }
    if (has_failed_) return OkStatus();
    TENON_RETURN_IF_ERROR(run.StartPiece());
    member.done = run.done();
    Wake();
  }
  TENON_RETURN_IF_ERROR(TellWhatIsDone(member));
  return run.Finish();
}

/// Steps of a device are only known to be done once they have been waited for. Those that nobody
/// else waits for need not be.
Status WorkerTeam::TellWhatIsDone(Member& member) {
  WorkerRun& run = workers_->run(member.worker);
  const ProgramView& program = plan_->program();
  for (size_t step = run.done(); step < run.started(); ++step) {
    if (!plan_->ops()[program.step(member.worker, step).op].is_awaited) continue;
    TENON_RETURN_IF_ERROR(run.WaitFor(step));
    member.done = run.done();
    Wake();
  }
  return OkStatus();
}

bool WorkerTeam::AreWaitsMet(const Member& member, size_t step) const {
  const ProgramView& program = plan_->program();
  const StepInfo info = program.step(member.worker, step);
  for (size_t i = 0; i < info.wait_count; ++i) {
    const WaitInfo wait = program.wait(member.worker, step, i);
    if (member_of_worker_[wait.worker]->done <= wait.step) return false;
  }
  return true;
}

template <typename Condition>
void WorkerTeam::AwaitOrHelp(const Condition& condition) {
  if (!has_help_) return Await(condition);
  for (;;) {
    Await([&] { return condition() || help_.HasWork(); });
    if (condition()) return;
    help_.Help();
  }
}

template <typename Condition>
void WorkerTeam::Await(const Condition& condition) {
  const Deadline end = MonotonicNow() + kSpinNanoseconds;
  do {
    for (int i = 0; i < kSpinsPerLook; ++i) {
      if (condition()) return;
      SpinPause();
    }
  } while (MonotonicNow() < end);
  std::unique_lock<std::mutex> lock(mutex_);
  // Counted before the last look: who changes something afterwards sees the sleeper.
  ++sleepers_;
  wake_.wait(lock, condition);
  --sleepers_;
}

void WorkerTeam::Wake() {
  if (sleepers_ == 0) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  wake_.notify_all();
}

}  // namespace tenon
