/* Stages are the first workers in order, and others help one each; channels lead forward through
 * rings of their own, and whatever two stages use is in one. */
#include "tests/second_check/memory.h"

static uint32_t stage_of(const struct program* program, uint32_t segment) {
  return program->segments[segment].stage;
}

static bool check_stages(struct program* program) {
  const struct flat* flat = program->flat;
  const uint32_t stages = program->stage_list.count;
  for (uint32_t i = 0; i < program->worker_list.count || i < stages; ++i) {
    if (i < stages ? flat_value(flat, flat_table(flat, program->stage_list, i), 0, 2, 0) != i
                   : program->steps[i].count == 0) {
      return refuse(program, SECOND_ORDER, "of no stage, or of another, is worker", i);
    }
    program->stage_of[i] =
        i < stages ? i : stage_of(program, program->ops[step_op(program, i, 0)].segment);
  }
  for (uint32_t i = 0; i < program->op_list.count; ++i) {
    const struct op* op = &program->ops[i];
    const struct list waits = step_waits(program, op->worker, op->step);
    bool is_inside = program->stage_of[op->worker] == stage_of(program, op->segment);
    for (uint32_t k = 0; k < waits.count; ++k) {
      const uint32_t other = struct_word(program, waits, k, 2, 0) & 0xFFFF;
      is_inside &= program->stage_of[other] == program->stage_of[op->worker];
    }
    if (!is_inside) return refuse(program, SECOND_ORDER, "only channels lead elsewhere: op", i);
  }
  return true;
}

static bool check_channel(struct program* program, uint32_t index) {
  const struct channel* channel = &program->channels[index];
  if (channel->from >= program->segment_list.count || channel->to >= program->segment_list.count ||
      stage_of(program, channel->from) >= stage_of(program, channel->to)) {
    return refuse(program, SECOND_ORDER, "channel leads to no later stage", index);
  }
  if (channel->arena >= program->arena_list.count || channel->depth == 0 ||
      program->arenas[channel->arena].slots != channel->depth ||
      program->arenas[channel->arena].channel != NOTHING) {
    return refuse(program, SECOND_OVERLAP, "channel without a ring of its own", index);
  }
  program->arenas[channel->arena].channel = index;
  for (uint32_t i = 0; i < channel->tensors.count; ++i) {
    const uint32_t tensor = flat_word(program->flat, channel->tensors, i);
    if (!is_in_arena(program, tensor) ||
        program->storages[program->tensors[tensor].storage].index != channel->arena) {
      return refuse(program, SECOND_BOUNDS, "channel of what is not in its ring", tensor);
    }
  }
  return true;
}

static bool check_use(struct program* program, const struct use* use) {
  struct arena* arena = &program->arenas[program->storages[use->storage].index];
  const uint32_t ring = arena->channel;
  if (use->op == CALLER) {
    return ring == NOTHING ||
           refuse(program, SECOND_OVERLAP, "port in a ring: tensor", use->tensor);
  }
  const uint32_t stage = program->stage_of[program->ops[use->op].worker];
  if (ring == NOTHING) {
    if (arena->stage == NOTHING) arena->stage = stage;
    return arena->stage == stage ||
           refuse(program, SECOND_OVERLAP, "used by two stages in no channel: tensor", use->tensor);
  }
  const uint32_t from = stage_of(program, program->channels[ring].from);
  const uint32_t to = stage_of(program, program->channels[ring].to);
  if (use->writes ? stage != from : stage < from || stage > to) {
    return refuse(program, SECOND_OVERLAP, "used past its channel: tensor", use->tensor);
  }
  return true;
}

bool check_stage_uses(struct memory* memory) {
  if (memory->program->mode != PIPELINE) return true;
  for (uint32_t i = 0; i < memory->count; ++i) {
    if (!check_use(memory->program, &memory->uses[i])) return false;
  }
  return true;
}

bool check_pipeline(struct program* program) {
  const bool is_pipeline = program->mode == PIPELINE;
  if (is_pipeline && !check_stages(program)) return false;
  if (!is_pipeline && program->channel_list.count > 0) {
    return refuse(program, SECOND_ORDER, "channels in what is no pipeline", 0);
  }
  if (!each(program, program->channel_list.count, check_channel)) return false;
  for (uint32_t i = 0; i < program->arena_list.count; ++i) {
    if (program->arenas[i].slots > 1 && program->arenas[i].channel == NOTHING) {
      return refuse(program, SECOND_BOUNDS, "several slots, but no channel, has arena", i);
    }
  }
  return true;
}
