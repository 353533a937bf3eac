// Plan check, part 2: every op has its step, waits can be met, and what happens before what.
#include "runtime/format/plan_check_workers.hpp"

namespace tenon::plan_check {
namespace {

constexpr uint8_t kNoWorker = UINT8_MAX;

bool AssignOps(ProgramCheck& check) {
  const ProgramView& program = check.program;
  const size_t before = check.reporter.count();
  for (size_t i = 0; i < check.ops; ++i) check.worker[i] = kNoWorker;
  for (size_t worker = 0; worker < check.workers; ++worker) {
    for (size_t i = 0; i < program.step_count(worker); ++i) {
      const uint32_t op = program.step(worker, i).op;
      if (op >= check.ops || check.worker[op] != kNoWorker) {
        check.Fail(program.name(), "step {0} of worker {1} has no op, or one that runs twice", i,
                   worker);
        continue;
      }
      check.worker[op] = static_cast<uint8_t>(worker);
      check.step[op] = static_cast<uint32_t>(i);
    }
  }
  for (size_t i = 0; i < check.ops; ++i) {
    if (check.worker[i] == kNoWorker) check.Fail(program.op(i).name, "op {0} is in no step", i);
  }
  return check.reporter.count() == before;
}

bool CheckWaits(const ProgramCheck& check) {
  const ProgramView& program = check.program;
  const size_t before = check.reporter.count();
  for (size_t worker = 0; worker < check.workers; ++worker) {
    for (size_t i = 0; i < program.step_count(worker); ++i) {
      for (size_t k = 0; k < program.step(worker, i).wait_count; ++k) {
        const WaitInfo wait = program.wait(worker, i, k);
        if (wait.worker >= check.workers || wait.step >= program.step_count(wait.worker)) {
          check.Fail(program.name(), "step {0} of worker {1} waits for a step that is not there", i,
                     worker);
        }
      }
    }
  }
  return check.reporter.count() == before;
}

/// Merges into a clock what is known to be done once `op` is done.
void Join(const ProgramCheck& check, uint32_t op, uint32_t* clock) {
  for (size_t v = 0; v < check.workers; ++v) {
    const uint32_t seen = v == check.worker[op] ? check.Done(op) : check.ClockOf(op)[v];
    if (seen > clock[v]) clock[v] = seen;
  }
}

/// Merges into a clock that all workers of a stage have done. False if one of them has not.
bool JoinStage(const ProgramCheck& check, size_t stage, const size_t* done, uint32_t* clock) {
  const ProgramView& program = check.program;
  for (size_t worker = 0; worker < check.workers; ++worker) {
    if (check.stage_of_worker[worker] != stage) continue;
    const size_t steps = program.step_count(worker);
    if (done[worker] < steps) return false;
    if (steps > 0) Join(check, program.step(worker, steps - 1).op, clock);
  }
  return true;
}

/// In a pipeline, a stage starts when those have done whose channels lead to it or past it. False
/// if one of them has not.
bool JoinStages(const ProgramCheck& check, size_t stage, const size_t* done, uint32_t* clock) {
  const ProgramView& program = check.program;
  for (size_t i = 0; check.is_pipeline && i < program.channel_count(); ++i) {
    const ChannelInfo channel = program.channel(i);
    const size_t from = program.segment(channel.from).stage;
    if (from >= stage || stage > program.segment(channel.to).stage) continue;
    if (!JoinStage(check, from, done, clock)) return false;
  }
  return true;
}

/// Runs a worker's steps as far as their waits are met by `done`, the number of steps that each
/// worker has done. Fills the clocks and positions of what it runs.
void Advance(ProgramCheck& check, size_t worker, size_t* done, uint32_t* position) {
  const ProgramView& program = check.program;
  for (; done[worker] < program.step_count(worker); ++done[worker]) {
    const size_t index = done[worker];
    const StepInfo step = program.step(worker, index);
    for (size_t k = 0; k < step.wait_count; ++k) {
      const WaitInfo wait = program.wait(worker, index, k);
      if (wait.step >= done[wait.worker]) return;
    }
    uint32_t* clock = check.ClockOf(step.op);
    for (size_t v = 0; v < check.workers; ++v) {
      clock[v] = index > 0 ? check.ClockOf(program.step(worker, index - 1).op)[v] : kInputsSet;
    }
    if (index == 0 && !JoinStages(check, check.stage_of_worker[worker], done, clock)) return;
    // Ops that start together know only of what is done before the first of them.
    const uint32_t group = check.group[step.op];
    const uint32_t first = group == kNoGroup ? step.op : program.group(group).ops[0];
    clock[worker] = kFirstStep - 1 + check.step[first];
    for (size_t k = 0; k < step.wait_count; ++k) {
      const WaitInfo wait = program.wait(worker, index, k);
      Join(check, program.step(wait.worker, wait.step).op, clock);
    }
    check.position[step.op] = (*position)++;
  }
}

}  // namespace

bool CheckOrder(ProgramCheck& check) {
  if (!AssignOps(check) || !CheckWaits(check) || !CheckGroupSteps(check)) return false;
  for (uint32_t op = 0; op < check.ops; ++op) {
    const uint32_t group = check.group[op];
    const Span<const uint32_t> together =
        group == kNoGroup ? Span<const uint32_t>(&op, 1) : check.program.group(group).ops;
    check.done[op] = kFirstStep + check.step[together[together.size() - 1]];
  }
  size_t done[kMaxWorkers] = {};
  uint32_t position = 1;  // 0 is where inputs are set
  uint32_t before = 0;
  while (position != before) {
    before = position;
    for (size_t worker = 0; worker < check.workers; ++worker) {
      Advance(check, worker, done, &position);
    }
  }
  if (position == check.ops + 1) return true;
  for (size_t worker = 0; worker < check.workers; ++worker) {
    if (done[worker] < check.program.step_count(worker)) {
      check.Fail(check.program.name(), "step {0} of worker {1} waits forever", done[worker],
                 worker);
    }
  }
  return false;
}

}  // namespace tenon::plan_check
