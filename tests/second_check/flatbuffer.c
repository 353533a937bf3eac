#include "tests/second_check/flatbuffer.h"

/* Kinds of fields: a number of 1 to 8 bytes, a struct of 8 bytes, a text, a vector of texts, a
 * vector of structs of so many words, a vector of tables. */
enum kind { NUMBER, HEADER, TEXT, TEXTS, WORDS, TABLE_LIST };

struct field {
  uint8_t kind;
  uint8_t size; /* of NUMBER: bytes; of WORDS: words of an element; of TABLE_LIST: which table */
  bool required;
};

// clang-format off
#define U8 {NUMBER, 1, false}
#define U16 {NUMBER, 2, false}
#define U32 {NUMBER, 4, false}
#define U64 {NUMBER, 8, false}
#define NAME {TEXT, 0, true}
#define NOTE {TEXT, 0, false}
#define LIST {WORDS, 1, true}
#define MAYBE_LIST {WORDS, 1, false}
#define OF(table) {TABLE_LIST, table, true}
#define MAYBE_OF(table) {TABLE_LIST, table, false}
/* In the order of the schema. */
static const struct field fields[] = {
    /* PLAN */ {HEADER, 8, true}, U16, U16, NOTE, NAME, U64, MAYBE_OF(OPTION), OF(SPACE),
    OF(SECTION), {TEXTS, 0, true}, {TEXTS, 0, true}, OF(PROGRAM),
    /* SPACE */ NAME,
    /* SECTION */ NAME, U16, U64, U64, U32, U32,
    /* OPTION */ NAME, NAME,
    /* PROGRAM */ NAME, U8, OF(ARENA), {WORDS, 6, true}, OF(TENSOR), OF(OP), OF(WORKER),
    OF(SEGMENT), MAYBE_OF(CHANNEL), OF(STAGE), OF(PORT), OF(PORT), {WORDS, 3, false},
    MAYBE_OF(GROUP),
    /* ARENA */ U16, U64, U32, U64, U16, U8,
    /* TENSOR */ NOTE, U8, U8, U32, U64, LIST, LIST,
    /* OP */ NOTE, U16, U16, LIST, LIST, MAYBE_LIST, U32, U32, U32, U32, U32, U8,
    /* WORKER */ OF(STEP), NOTE,
    /* STEP */ U32, {WORDS, 2, false},
    /* SEGMENT */ U16, LIST, U16, MAYBE_LIST, MAYBE_LIST, MAYBE_OF(CODE),
    /* CODE */ U16, U64, U64, NAME, U32, LIST, MAYBE_LIST, {WORDS, 6, true},
    /* GROUP */ LIST, NOTE, U32, MAYBE_LIST,
    /* CHANNEL */ U16, U16, LIST, U16, U16,
    /* STAGE */ U16,
    /* PORT */ NAME, U32, U32, U32};
static const uint32_t field_counts[TABLES] = {12, 1, 6, 2, 14, 6, 7, 12, 2, 2, 6, 8, 4, 5, 1, 4};
// clang-format on

static struct field field_of(enum table table, uint32_t index) {
  for (uint32_t i = 0; i < (uint32_t)table; ++i) index += field_counts[i];
  return fields[index];
}

static bool holds(const struct flat* flat, uint32_t position, uint64_t bytes) {
  return position <= flat->size && bytes <= flat->size - position;
}

static uint8_t byte_at(const struct flat* flat, uint64_t position) {
  return position < flat->size ? flat->data[position] : 0;
}

uint64_t flat_number(const struct flat* flat, uint32_t position, uint32_t bytes) {
  uint64_t value = 0;
  if (!holds(flat, position, bytes)) return 0;
  for (uint64_t i = bytes; i > 0; --i) value = value << 8 | byte_at(flat, position + i - 1);
  return value;
}

uint32_t flat_follow(const struct flat* flat, uint32_t position) {
  if (position % 4 != 0 || !holds(flat, position, 4)) return 0;
  const uint64_t target = position + flat_number(flat, position, 4);
  if (target == position || target % 4 != 0 || target > flat->size) return 0;
  return holds(flat, (uint32_t)target, 4) ? (uint32_t)target : 0;
}

/* Where a vector of elements of so many bytes begins, if all of it is there, else 0. */
static uint32_t verify_elements(const struct flat* flat, uint32_t position, uint32_t bytes) {
  const uint32_t list = flat_follow(flat, position);
  if (list == 0) return 0;
  const uint64_t count = flat_number(flat, list, 4);
  return holds(flat, list + 4, count * bytes) ? list : 0;
}

static bool verify_text(const struct flat* flat, uint32_t position) {
  const uint32_t list = verify_elements(flat, position, 1);
  if (list == 0) return false;
  const uint64_t end = (uint64_t)list + 4 + flat_number(flat, list, 4);
  return end < flat->size && byte_at(flat, end) == 0;
}

static bool verify_vector(struct flat* flat, uint32_t position, struct field field, uint32_t deep) {
  if (field.kind == TEXT) return verify_text(flat, position);
  if (field.kind == WORDS) return verify_elements(flat, position, 4U * field.size) != 0;
  const uint32_t list = verify_elements(flat, position, 4);
  if (list == 0) return false;
  const uint32_t count = (uint32_t)flat_number(flat, list, 4);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t element = list + 4 + 4 * i;
    const bool fits = field.kind == TEXTS
                          ? verify_text(flat, element)
                          : flat_verify(flat, element, (enum table)field.size, UINT32_MAX, deep);
    if (!fits) return false;
  }
  return true;
}

bool flat_verify(struct flat* flat, uint32_t position, enum table table, uint32_t most,
                 uint32_t deep) {
  if (deep == 0) return false;
  const uint32_t at = flat_follow(flat, position);
  if (at == 0 || flat->tables_left == 0) return false;
  --flat->tables_left;
  const uint32_t places = at - (uint32_t)flat_number(flat, at, 4);
  if (places % 2 != 0 || !holds(flat, places, 4)) return false;
  const uint32_t places_bytes = (uint32_t)flat_number(flat, places, 2);
  if (places_bytes < 4 || places_bytes % 2 != 0 || !holds(flat, places, places_bytes)) return false;
  for (uint32_t i = 0; i < field_counts[table] && i < most; ++i) {
    const struct field field = field_of(table, i);
    const uint32_t value = flat_field(flat, at, i);
    if (value == 0) {
      if (field.required) return false;
    } else if (field.kind == NUMBER || field.kind == HEADER) {
      const uint32_t alignment = field.kind == HEADER ? 4 : field.size;
      if (value % alignment != 0 || !holds(flat, value, field.size)) return false;
    } else if (!verify_vector(flat, value, field, deep - 1)) {
      return false;
    }
  }
  return true;
}

uint32_t flat_field(const struct flat* flat, uint32_t table, uint32_t field) {
  const uint32_t places = table - (uint32_t)flat_number(flat, table, 4);
  const uint32_t entry = 4 + 2 * field;
  if (entry + 2 > flat_number(flat, places, 2)) return 0;
  const uint32_t place = (uint32_t)flat_number(flat, places + entry, 2);
  return place == 0 ? 0 : table + place;
}

uint64_t flat_value(const struct flat* flat, uint32_t table, uint32_t field, uint32_t bytes,
                    uint64_t otherwise) {
  const uint32_t position = flat_field(flat, table, field);
  return position == 0 ? otherwise : flat_number(flat, position, bytes);
}

struct list flat_list(const struct flat* flat, uint32_t table, uint32_t field) {
  struct list list = {0, 0};
  const uint32_t position = flat_field(flat, table, field);
  if (position == 0) return list;
  const uint32_t vector = flat_follow(flat, position);
  list.count = (uint32_t)flat_number(flat, vector, 4);
  list.at = vector + 4;
  return list;
}

uint32_t flat_word(const struct flat* flat, struct list list, uint32_t index) {
  return (uint32_t)flat_number(flat, list.at + 4 * index, 4);
}

bool flat_same(const struct flat* flat, struct list a, struct list b) {
  bool same = a.count == b.count;
  for (uint32_t i = 0; same && i < a.count; ++i)
    same = flat_word(flat, a, i) == flat_word(flat, b, i);
  return same;
}

uint32_t flat_table(const struct flat* flat, struct list list, uint32_t index) {
  return flat_follow(flat, list.at + 4 * index);
}
