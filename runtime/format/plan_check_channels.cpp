// Plan check, part 7: the stages of a pipeline, which work on successive inputs at the same time.
//
// Stage s works on input n as soon as the stages whose channels lead to it or past it are done with
// n, and the readers of its own channels with n - depth. That cannot deadlock: of all pairs (n, s)
// that are not done take the one with the smallest n and, of those, the smallest s. It waits only
// for pairs with the same n and a smaller s, since channels lead forward, or with a smaller n,
// since they have a slot at least; all of those are done, and so is (n - 1, s). A stage that has
// started ends, since its workers wait for each other only, as other programs' do.
//
// Different inputs meet nowhere: an arena is used by one stage only, which works on one input after
// the other, or is a channel's, where an input has its slot until all readers are done with it: all
// workers of the stages that read. What happens to one input is checked as in other programs, with
// the order that channels give.
#include "runtime/format/plan_check_workers.hpp"

namespace tenon::plan_check {
namespace {

size_t StageOf(const ProgramCheck& check, uint32_t segment) {
  return check.program.segment(segment).stage;
}

/// Finds the stage of every worker: the first workers are one each, those beyond help that of their
/// first op (CheckChannels looks at the others). False if one has none.
bool FindStages(ProgramCheck& check) {
  const ProgramView& program = check.program;
  const size_t stages = program.stage_count();
  bool are_stages = stages <= check.workers;
  for (size_t i = 0; are_stages && i < stages; ++i) are_stages = program.stage_worker(i) == i;
  if (!are_stages) {
    check.Fail(program.name(), "the stages of a pipeline are its first workers in order");
    return false;
  }
  for (size_t worker = 0; worker < check.workers; ++worker) {
    size_t stage = worker;
    if (worker >= stages) {
      const bool has_steps = program.step_count(worker) > 0;
      const uint32_t first = has_steps ? program.step(worker, 0).op : UINT32_MAX;
      if (first >= check.ops) {
        check.Fail(program.name(), "worker {0} begins with no op, and so is of no stage", worker);
        return false;
      }
      stage = StageOf(check, check.segment[first]);
    }
    check.stage_of_worker[worker] = static_cast<uint8_t>(stage);
  }
  return true;
}

/// Workers wait for those of their own stage, and stages only through channels.
void CheckStageWaits(const ProgramCheck& check) {
  const ProgramView& program = check.program;
  for (size_t worker = 0; worker < check.workers; ++worker) {
    const uint8_t stage = check.stage_of_worker[worker];
    for (size_t i = 0; i < program.step_count(worker); ++i) {
      for (size_t k = 0; k < program.step(worker, i).wait_count; ++k) {
        const size_t other = program.wait(worker, i, k).worker;
        if (other < check.workers && check.stage_of_worker[other] == stage) continue;
        check.Fail(program.name(), "step {0} of stage {1} waits for another: only channels do", i,
                   stage);
      }
    }
  }
}

/// Every channel leads forward, and has an arena of its own.
void CheckChannel(ProgramCheck& check, size_t index) {
  const ProgramView& program = check.program;
  const ChannelInfo channel = program.channel(index);
  if (channel.from >= check.segments || channel.to >= check.segments ||
      StageOf(check, channel.from) >= StageOf(check, channel.to)) {
    check.Fail(program.name(), "channel {0} does not lead to a later stage", index);
    return;
  }
  if (channel.arena >= check.arenas || channel.depth == 0 ||
      program.arena(channel.arena).slots != channel.depth ||
      check.arena_channel[channel.arena] != 0) {
    check.Fail(program.name(), "channel {0}: its arena is another's too, or has not its slots",
               index);
    return;
  }
  check.arena_channel[channel.arena] = static_cast<uint32_t>(index) + 1;
  for (const uint32_t tensor : channel.tensors) {
    const bool is_there = tensor < check.tensors &&
                          check.StorageOf(tensor).home == StorageHome::kArena &&
                          check.StorageOf(tensor).index == channel.arena;
    if (!is_there) {
      check.Fail(program.name(), "channel {0} hands over tensor {1}, which is not in its arena",
                 index, tensor);
    }
  }
}

/// A storage in a ring is written by the channel's first stage and read up to its last; any other
/// is used by one stage.
void CheckUse(const ProgramCheck& check, size_t storage) {
  const uint16_t arena = check.program.storage(storage).index;
  uint8_t& owner = check.arena_stage[arena];
  const uint32_t ring = check.arena_channel[arena];
  const ChannelInfo channel = ring != 0 ? check.program.channel(ring - 1) : ChannelInfo{};
  for (uint32_t i = check.access_begin[storage]; i < check.access_begin[storage + 1]; ++i) {
    const uint32_t op = OpOf(check.accesses[i]);
    const TensorInfo tensor = check.program.tensor(TensorOf(check.accesses[i]));
    if (op == kPortOp) {
      if (ring != 0) check.Fail(tensor.name, "an input or output in the arena of a channel");
      continue;
    }
    const size_t stage = check.stage_of_worker[check.worker[op]];
    if (ring == 0) {
      if (owner == kNoStage) owner = static_cast<uint8_t>(stage);
      if (owner != stage) {
        check.Fail(tensor.name, "is used by stages {0} and {1}, but in no channel", owner, stage);
      }
      continue;
    }
    const size_t from = StageOf(check, channel.from);
    const bool writes = i < check.reader_begin[storage];
    if (writes ? stage != from : stage < from || stage > StageOf(check, channel.to)) {
      check.Fail(tensor.name, "is used by stage {0}, which its channel does not join", stage);
    }
  }
}

}  // namespace

bool CheckStages(ProgramCheck& check) {
  const ProgramView& program = check.program;
  const size_t before = check.reporter.count();
  for (size_t i = 0; i < check.arenas; ++i) {
    check.arena_stage[i] = kNoStage;
    check.arena_channel[i] = 0;
  }
  if (check.is_pipeline) {
    if (FindStages(check)) CheckStageWaits(check);
    for (size_t i = 0; i < program.channel_count(); ++i) CheckChannel(check, i);
  } else if (program.channel_count() > 0) {
    check.Fail(program.name(), "channels in a program that is no pipeline");
  }
  for (size_t i = 0; i < check.arenas; ++i) {
    if (program.arena(i).slots > 1 && check.arena_channel[i] == 0) {
      check.Fail(program.name(), "arena {0} has several slots, but no channel", i);
    }
  }
  return check.reporter.count() == before;
}

void CheckChannels(ProgramCheck& check) {
  if (!check.is_pipeline) return;
  const ProgramView& program = check.program;
  for (uint32_t op = 0; op < check.ops; ++op) {
    if (check.stage_of_worker[check.worker[op]] != StageOf(check, check.segment[op])) {
      check.Fail(program.op(op).name, "op {0} is not run by the stage of its segment", op);
    }
  }
  for (size_t s = 0; s < check.storages && !check.reporter.stopped(); ++s) {
    if (program.storage(s).home == StorageHome::kArena) CheckUse(check, s);
  }
}

}  // namespace tenon::plan_check
