/* One program of a plan as the parts of the second check look at it. */
#pragma once

#include "tests/second_check/flatbuffer.h"
#include "tests/second_check/second_check.h"

#define NOTHING UINT32_MAX
/* Who writes inputs and reads outputs. */
#define CALLER (UINT32_MAX - 1)
#define PIPELINE 1 /* a mode */
#define MOST_WORKERS 8
#define MOST_DIMS 8

struct arena {
  uint64_t bytes;
  uint32_t alignment, space, slots;
  uint32_t use;     /* 0: ops write there; else the caller alone does */
  uint32_t channel; /* whose ring it is, or NOTHING */
  uint32_t stage;   /* of a pipeline's that uses it alone, or NOTHING */
};

struct storage {
  uint64_t offset, bytes;
  uint32_t home; /* 0: arena, 1: section, 2: the device that runs segment `index` */
  uint32_t index;
};

struct tensor {
  uint32_t dtype, storage;
  uint64_t offset;
  struct list dims, strides;
};

struct op {
  struct list inputs, outputs;
  int32_t workspace, in_place, fallback_kernel, fallback_workspace, condition;
  uint32_t kernel;
  uint32_t worker, step, segment, group;
};

struct segment {
  uint32_t stage, backend;
  struct list ops, reads, writes;
};

struct channel {
  uint32_t from, to, depth, arena;
  struct list tensors;
};

struct program {
  const struct flat* flat;
  uint64_t file_bytes;
  uint32_t table, mode;
  uint32_t spaces, kernels; /* of the whole plan */
  struct list section_list, backend_list;
  struct list arena_list, storage_list, tensor_list, op_list, worker_list, segment_list;
  struct list channel_list, stage_list, input_list, output_list, state_list, group_list;
  struct list steps[MOST_WORKERS];
  uint32_t stage_of[MOST_WORKERS]; /* of a pipeline's workers */
  struct arena* arenas;
  struct storage* storages;
  struct tensor* tensors;
  struct op* ops;
  struct segment* segments;
  struct channel* channels;
  uint64_t* before; /* of each op, a bit for each op that is done when it starts */
  struct second_answer* answer;
};

/* Notes what is wrong, and returns false. */
bool refuse(struct program* program, enum second_class found, const char* reason, uint64_t about);

bool read_program(struct program* program);
void free_program(struct program* program);
bool is_in_arena(const struct program* program, uint32_t tensor); /* and is one */
bool is_on_cpu(const struct program* program, uint32_t segment);
uint32_t element_bytes(uint32_t dtype); /* 0: no such type */
/* The step's op and its waits, pairs of words. */
uint32_t step_op(const struct program* program, uint32_t worker, uint32_t step);
struct list step_waits(const struct program* program, uint32_t worker, uint32_t step);
struct list group_ops(const struct program* program, uint32_t group);
uint32_t port_tensor(const struct program* program, struct list ports, uint32_t index);
/* Of a vector of structs: word `word` of element `index`, of `words` words each. */
uint32_t struct_word(const struct program* program, struct list list, uint32_t index,
                     uint32_t words, uint32_t word);

/* True if `check` passes every index below `count`. */
bool each(struct program* program, uint32_t count, bool (*check)(struct program*, uint32_t index));

/* The parts, in this order; each relies on those before. */
bool check_bounds(struct program* program);
bool check_schedule(struct program* program);
bool check_order(struct program* program);
bool check_memory(struct program* program);
bool check_pipeline(struct program* program);

/* True if op `a` is done when op `b` starts, however the workers run. After check_order. */
bool happens_before(const struct program* program, uint32_t a, uint32_t b);
