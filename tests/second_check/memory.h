/* What memory.c lists and turns.c compares: who uses which storage, and when. */
#pragma once

#include "tests/second_check/program.h"

enum role { OPERAND, WORKSPACE, FALLBACK };

/* One use of a storage, from when `first` starts to when `last` is done. */
struct use {
  uint32_t storage, tensor, op, first, last;
  bool writes;
  enum role role;
};

struct memory {
  struct program* program;
  struct use* uses; /* sorted by storage */
  uint32_t* begin;  /* of each storage, and of one behind the last */
  uint32_t count;
  uint32_t* owner; /* of each byte of one storage: 1 + the use that writes it */
  uint64_t work;
};

/* The segment whose ops are all that write the storage, or NOTHING. */
uint32_t writing_segment(const struct memory* memory, uint32_t storage);
bool spend(struct memory* memory, uint64_t work);
/* True if two uses of one arena have a byte in common, or if that takes too long to say. */
bool share_bytes(struct memory* memory, const struct use* a, const struct use* b);
/* Storages that share bytes take turns. */
bool check_turns(struct memory* memory);
/* Stages of a pipeline share bytes in channels only. */
bool check_stage_uses(struct memory* memory);
