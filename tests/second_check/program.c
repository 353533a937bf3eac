#include "tests/second_check/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool refuse(struct program* program, enum second_class found, const char* reason, uint64_t about) {
  program->answer->found = found;
  snprintf(program->answer->reason, sizeof program->answer->reason, "%s (%llu)", reason,
           (unsigned long long)about);
  return false;
}

/* Bytes of the types 0 to 12: f32 f16 bf16 f64 i8 u8 i16 u16 i32 u32 i64 u64 bool. */
uint32_t element_bytes(uint32_t dtype) {
  static const uint8_t bytes[] = {4, 2, 2, 8, 1, 1, 2, 2, 4, 4, 8, 8, 1};
  return dtype < sizeof bytes ? bytes[dtype] : 0;
}

uint32_t struct_word(const struct program* program, struct list list, uint32_t index,
                     uint32_t words, uint32_t word) {
  return (uint32_t)flat_number(program->flat, list.at + 4 * (index * words + word), 4);
}

static uint32_t step_table(const struct program* program, uint32_t worker, uint32_t step) {
  return flat_table(program->flat, program->steps[worker], step);
}

uint32_t step_op(const struct program* program, uint32_t worker, uint32_t step) {
  return (uint32_t)flat_value(program->flat, step_table(program, worker, step), 0, 4, 0);
}

struct list step_waits(const struct program* program, uint32_t worker, uint32_t step) {
  return flat_list(program->flat, step_table(program, worker, step), 1);
}

struct list group_ops(const struct program* program, uint32_t group) {
  return flat_list(program->flat, flat_table(program->flat, program->group_list, group), 0);
}

bool is_on_cpu(const struct program* program, uint32_t segment) {
  const uint32_t at = program->backend_list.at + 4 * program->segments[segment].backend;
  return strcmp((const char*)program->flat->data + flat_follow(program->flat, at) + 4, "cpu") == 0;
}

uint32_t port_tensor(const struct program* program, struct list ports, uint32_t index) {
  return (uint32_t)flat_value(program->flat, flat_table(program->flat, ports, index), 1, 4, 0);
}

bool each(struct program* program, uint32_t count, bool (*check)(struct program*, uint32_t index)) {
  for (uint32_t i = 0; i < count; ++i) {
    if (!check(program, i)) return false;
  }
  return true;
}

static void read_arenas(struct program* program) {
  const struct flat* flat = program->flat;
  for (uint32_t i = 0; i < program->arena_list.count; ++i) {
    const uint32_t table = flat_table(flat, program->arena_list, i);
    struct arena* arena = &program->arenas[i];
    arena->space = (uint32_t)flat_value(flat, table, 0, 2, 0);
    arena->bytes = flat_value(flat, table, 1, 8, 0);
    arena->alignment = (uint32_t)flat_value(flat, table, 2, 4, 0);
    arena->slots = (uint32_t)flat_value(flat, table, 4, 2, 1);
    arena->use = (uint32_t)flat_value(flat, table, 5, 1, 0);
    arena->channel = arena->stage = NOTHING;
  }
  for (uint32_t i = 0; i < program->storage_list.count; ++i) {
    const uint32_t at = program->storage_list.at + 24 * i;
    struct storage* storage = &program->storages[i];
    storage->offset = flat_number(flat, at, 8);
    storage->bytes = flat_number(flat, at + 8, 8);
    storage->index = (uint32_t)flat_number(flat, at + 16, 2);
    storage->home = (uint32_t)flat_number(flat, at + 18, 1);
  }
}

static void read_tensors(struct program* program) {
  const struct flat* flat = program->flat;
  for (uint32_t i = 0; i < program->tensor_list.count; ++i) {
    const uint32_t table = flat_table(flat, program->tensor_list, i);
    struct tensor* tensor = &program->tensors[i];
    tensor->dtype = (uint32_t)flat_value(flat, table, 1, 1, 0);
    tensor->storage = (uint32_t)flat_value(flat, table, 3, 4, 0);
    tensor->offset = flat_value(flat, table, 4, 8, 0);
    tensor->dims = flat_list(flat, table, 5);
    tensor->strides = flat_list(flat, table, 6);
  }
}

static void read_ops(struct program* program) {
  const struct flat* flat = program->flat;
  for (uint32_t i = 0; i < program->op_list.count; ++i) {
    const uint32_t table = flat_table(flat, program->op_list, i);
    struct op* op = &program->ops[i];
    op->kernel = (uint32_t)flat_value(flat, table, 2, 2, 0);
    op->inputs = flat_list(flat, table, 3);
    op->outputs = flat_list(flat, table, 4);
    op->workspace = (int32_t)flat_value(flat, table, 6, 4, UINT32_MAX);
    op->in_place = (int32_t)flat_value(flat, table, 7, 4, UINT32_MAX);
    op->fallback_kernel = (int32_t)flat_value(flat, table, 8, 4, UINT32_MAX);
    op->fallback_workspace = (int32_t)flat_value(flat, table, 9, 4, UINT32_MAX);
    op->condition = (int32_t)flat_value(flat, table, 10, 4, UINT32_MAX);
    op->worker = op->step = op->segment = op->group = NOTHING;
  }
}

static void read_segments(struct program* program) {
  const struct flat* flat = program->flat;
  for (uint32_t i = 0; i < program->segment_list.count; ++i) {
    const uint32_t table = flat_table(flat, program->segment_list, i);
    struct segment* segment = &program->segments[i];
    segment->backend = (uint32_t)flat_value(flat, table, 0, 2, 0);
    segment->ops = flat_list(flat, table, 1);
    segment->stage = (uint32_t)flat_value(flat, table, 2, 2, 0);
    segment->reads = flat_list(flat, table, 3);
    segment->writes = flat_list(flat, table, 4);
  }
  for (uint32_t i = 0; i < program->channel_list.count; ++i) {
    const uint32_t table = flat_table(flat, program->channel_list, i);
    struct channel* channel = &program->channels[i];
    channel->from = (uint32_t)flat_value(flat, table, 0, 2, 0);
    channel->to = (uint32_t)flat_value(flat, table, 1, 2, 0);
    channel->tensors = flat_list(flat, table, 2);
    channel->depth = (uint32_t)flat_value(flat, table, 3, 2, 0);
    channel->arena = (uint32_t)flat_value(flat, table, 4, 2, 0);
  }
}

static void* zeros(struct program* program, uint32_t count, size_t bytes) {
  void* made = calloc((size_t)count + 1, bytes);
  if (made == NULL) (void)refuse(program, SECOND_TOO_LARGE, "no memory for a table", count);
  return made;
}

bool read_program(struct program* program) {
  const struct flat* flat = program->flat;
  struct list* lists[] = {&program->arena_list,   &program->storage_list, &program->tensor_list,
                          &program->op_list,      &program->worker_list,  &program->segment_list,
                          &program->channel_list, &program->stage_list,   &program->input_list,
                          &program->output_list,  &program->state_list,   &program->group_list};
  program->mode = (uint32_t)flat_value(flat, program->table, 1, 1, 0);
  for (uint32_t i = 0; i < sizeof lists / sizeof lists[0]; ++i) {
    *lists[i] = flat_list(flat, program->table, 2 + i);
  }
  if (program->worker_list.count == 0 || program->worker_list.count > MOST_WORKERS) {
    return refuse(program, SECOND_BOUNDS, "1 to 8 workers, not", program->worker_list.count);
  }
  for (uint32_t i = 0; i < program->worker_list.count; ++i) {
    program->steps[i] = flat_list(flat, flat_table(flat, program->worker_list, i), 0);
  }
  program->arenas = zeros(program, program->arena_list.count, sizeof *program->arenas);
  program->storages = zeros(program, program->storage_list.count, sizeof *program->storages);
  program->tensors = zeros(program, program->tensor_list.count, sizeof *program->tensors);
  program->ops = zeros(program, program->op_list.count, sizeof *program->ops);
  program->segments = zeros(program, program->segment_list.count, sizeof *program->segments);
  program->channels = zeros(program, program->channel_list.count, sizeof *program->channels);
  if (program->answer->found != SECOND_PASSED) return false;
  read_arenas(program);
  read_tensors(program);
  read_ops(program);
  read_segments(program);
  return true;
}

void free_program(struct program* program) {
  free(program->arenas);
  free(program->storages);
  free(program->tensors);
  free(program->ops);
  free(program->segments);
  free(program->channels);
  free(program->before);
}
