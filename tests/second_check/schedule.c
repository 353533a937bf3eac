/* Every op has one step and one segment; groups are neighbours; waits and stages are there. */
#include "tests/second_check/program.h"

static bool assign_steps(struct program* program) {
  for (uint32_t worker = 0; worker < program->worker_list.count; ++worker) {
    for (uint32_t i = 0; i < program->steps[worker].count; ++i) {
      const uint32_t op = step_op(program, worker, i);
      if (op >= program->op_list.count || program->ops[op].worker != NOTHING) {
        return refuse(program, SECOND_ORDER, "step of no op, or of one that runs twice", op);
      }
      program->ops[op].worker = worker;
      program->ops[op].step = i;
      const struct list waits = step_waits(program, worker, i);
      for (uint32_t k = 0; k < waits.count; ++k) {
        const uint32_t other = struct_word(program, waits, k, 2, 0) & 0xFFFF;
        if (other >= program->worker_list.count ||
            struct_word(program, waits, k, 2, 1) >= program->steps[other].count) {
          return refuse(program, SECOND_ORDER, "wait for a step that is not there", op);
        }
      }
    }
  }
  return true;
}

static bool assign_segments(struct program* program) {
  for (uint32_t s = 0; s < program->segment_list.count; ++s) {
    const struct segment* segment = &program->segments[s];
    if (segment->stage >= program->stage_list.count ||
        segment->backend >= program->backend_list.count) {
      return refuse(program, SECOND_BOUNDS, "segment's stage or backend out of range", s);
    }
    for (uint32_t i = 0; i < segment->ops.count; ++i) {
      const uint32_t op = flat_word(program->flat, segment->ops, i);
      if (op >= program->op_list.count || program->ops[op].segment != NOTHING) {
        return refuse(program, SECOND_BOUNDS, "segment of no op, or of another's", op);
      }
      program->ops[op].segment = s;
    }
  }
  return true;
}

static bool is_assigned(struct program* program, uint32_t op) {
  return (program->ops[op].worker != NOTHING && program->ops[op].segment != NOTHING) ||
         refuse(program, SECOND_ORDER, "op in no step, or in no segment", op);
}

static bool assign_group(struct program* program, uint32_t group) {
  const struct list ops = group_ops(program, group);
  if (ops.count < 2 || ops.count > 32) {
    return refuse(program, SECOND_BOUNDS, "2 to 32 ops start together, unlike in group", group);
  }
  for (uint32_t i = 0; i < ops.count; ++i) {
    const uint32_t id = flat_word(program->flat, ops, i);
    if (id >= program->op_list.count || program->ops[id].group != NOTHING) {
      return refuse(program, SECOND_BOUNDS, "group of no op, or of another's", id);
    }
    struct op* op = &program->ops[id];
    op->group = group;
    const struct op* leader = &program->ops[flat_word(program->flat, ops, 0)];
    if (op->worker != leader->worker || op->segment != leader->segment ||
        op->step != (uint64_t)leader->step + i ||
        (i > 0 && step_waits(program, op->worker, op->step).count > 0)) {
      return refuse(program, SECOND_ORDER, "group of ops that are no neighbours, or that wait", id);
    }
  }
  return true;
}

static bool check_stage(struct program* program, uint32_t stage) {
  const uint32_t table = flat_table(program->flat, program->stage_list, stage);
  return flat_value(program->flat, table, 0, 2, 0) < program->worker_list.count ||
         refuse(program, SECOND_BOUNDS, "stage of no worker", stage);
}

bool check_schedule(struct program* program) {
  return assign_steps(program) && assign_segments(program) &&
         each(program, program->op_list.count, is_assigned) &&
         each(program, program->group_list.count, assign_group) &&
         each(program, program->stage_list.count, check_stage);
}
