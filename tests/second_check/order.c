/* What happens before what: for each op the set of all ops that are done when it starts. */
#include <stdlib.h>

#include "tests/second_check/program.h"

#define MOST_OPS 16384

static uint32_t words(const struct program* program) { return (program->op_list.count + 63) / 64; }

/* Ops that start together are one, called by the first of them. */
static uint32_t leader_of(const struct program* program, uint32_t op) {
  const uint32_t group = program->ops[op].group;
  return group == NOTHING ? op : flat_word(program->flat, group_ops(program, group), 0);
}

static uint64_t* before_of(const struct program* program, uint32_t op) {
  return program->before + (size_t)op * words(program);
}

bool happens_before(const struct program* program, uint32_t a, uint32_t b) {
  const uint32_t first = leader_of(program, a);
  const uint32_t second = leader_of(program, b);
  return first != second && (before_of(program, second)[first / 64] >> (first % 64) & 1) != 0;
}

/* `op` starts when `earlier`, and with it all that is before it, is done. */
static void put_behind(struct program* program, uint32_t op, uint32_t earlier) {
  uint64_t* before = before_of(program, op);
  const uint32_t leader = leader_of(program, earlier);
  const uint64_t* more = before_of(program, leader);
  for (uint32_t i = 0; i < words(program); ++i) before[i] |= more[i];
  before[leader / 64] |= (uint64_t)1 << (leader % 64);
}

/* A stage starts when all workers of those have done whose channels lead to it or past it. */
static bool start_stage(struct program* program, uint32_t stage, const uint32_t* done,
                        uint32_t op) {
  for (uint32_t i = 0; i < program->channel_list.count; ++i) {
    const uint32_t from = program->segments[program->channels[i].from].stage;
    const uint32_t to = program->segments[program->channels[i].to].stage;
    for (uint32_t w = 0; from < stage && stage <= to && w < program->worker_list.count; ++w) {
      const uint32_t steps = program->steps[w].count;
      if (program->stage_of[w] != from || steps == 0) continue;
      if (done[w] < steps) return false;
      put_behind(program, op, step_op(program, w, steps - 1));
    }
  }
  return true;
}

/* Runs a worker's next step, if its waits are met. */
static bool run_step(struct program* program, uint32_t worker, uint32_t* done) {
  const uint32_t step = done[worker];
  if (step >= program->steps[worker].count) return false;
  const uint32_t op = step_op(program, worker, step);
  if (leader_of(program, op) != op) {
    ++done[worker];
    return true;
  }
  const struct list waits = step_waits(program, worker, step);
  for (uint32_t k = 0; k < waits.count; ++k) {
    const uint32_t other = struct_word(program, waits, k, 2, 0) & 0xFFFF;
    if (struct_word(program, waits, k, 2, 1) >= done[other]) return false;
    put_behind(program, op, step_op(program, other, struct_word(program, waits, k, 2, 1)));
  }
  if (step == 0 && !start_stage(program, program->stage_of[worker], done, op)) return false;
  if (step > 0) put_behind(program, op, step_op(program, worker, step - 1));
  ++done[worker];
  return true;
}

bool check_order(struct program* program) {
  if (program->op_list.count > MOST_OPS) {
    return refuse(program, SECOND_TOO_LARGE, "too many ops", program->op_list.count);
  }
  program->before = calloc((size_t)program->op_list.count * words(program) + 1, 8);
  if (program->before == NULL) return refuse(program, SECOND_TOO_LARGE, "no memory for order", 0);
  uint32_t done[MOST_WORKERS] = {0};
  for (bool moves = true; moves;) {
    moves = false;
    for (uint32_t worker = 0; worker < program->worker_list.count; ++worker) {
      while (run_step(program, worker, done)) moves = true;
    }
  }
  for (uint32_t worker = 0; worker < program->worker_list.count; ++worker) {
    if (done[worker] < program->steps[worker].count) {
      return refuse(program, SECOND_ORDER, "worker waits for ever", worker);
    }
  }
  return true;
}
