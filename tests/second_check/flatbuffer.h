/* Plan files as FlatBuffers: verified once, as a whole, and read by position afterwards. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Tables of sdk/schema/plan.fbs. */
enum table {
  PLAN,
  SPACE,
  SECTION,
  OPTION,
  PROGRAM,
  ARENA,
  TENSOR,
  OP,
  WORKER,
  STEP,
  SEGMENT,
  CODE,
  GROUP,
  CHANNEL,
  STAGE,
  PORT,
  TABLES
};

/* The first `size` bytes of a file. Positions count from its start; 0 is no position. */
struct flat {
  const uint8_t* data;
  uint32_t size, tables_left;
};

/* Elements of a vector, one behind the other. */
struct list {
  uint32_t at, count;
};

uint64_t flat_number(const struct flat* flat, uint32_t position, uint32_t bytes);

/* True if the table that the offset at `position` leads to, with the first `most` of its fields,
 * lies inside the file with all that it refers to, through `deep` tables in a row at most. */
bool flat_verify(struct flat* flat, uint32_t position, enum table table, uint32_t most,
                 uint32_t deep);

/* Of verified tables: a number, or `otherwise` where the field is absent. */
uint64_t flat_value(const struct flat* flat, uint32_t table, uint32_t field, uint32_t bytes,
                    uint64_t otherwise);
/* A vector, or an empty one. */
struct list flat_list(const struct flat* flat, uint32_t table, uint32_t field);
/* Where the table or text that the offset at `position` leads to begins. */
uint32_t flat_follow(const struct flat* flat, uint32_t position);
/* The position of a field's value, or 0. */
uint32_t flat_field(const struct flat* flat, uint32_t table, uint32_t field);
/* Word `index` of a vector of words, or table `index` of a vector of tables. */
uint32_t flat_word(const struct flat* flat, struct list list, uint32_t index);
bool flat_same(const struct flat* flat, struct list a, struct list b); /* words */
uint32_t flat_table(const struct flat* flat, struct list list, uint32_t index);
