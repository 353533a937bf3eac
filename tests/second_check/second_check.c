#include "tests/second_check/second_check.h"

#include <stdlib.h>
#include <string.h>

#include "tests/second_check/program.h"

/* The header gives the FlatBuffer's size; only then can all of it be verified. */
static bool open_plan(struct program* root) {
  enum { HEADER_FIELDS = 3, DEEPEST = 4, VERSION_MAJOR = 0, VERSION_MINOR = 7 };
  struct flat* flat = (struct flat*)root->flat;
  flat->tables_left = flat->size / 8;
  if (flat->size <= 8 || memcmp(flat->data + 4, "TNON", 4) != 0 ||
      !flat_verify(flat, 0, PLAN, HEADER_FIELDS, DEEPEST)) {
    return refuse(root, SECOND_STRUCTURE, "no plan, or a damaged header", flat->size);
  }
  const uint32_t plan = flat_follow(flat, 0);
  const uint32_t header = flat_field(flat, plan, 0);
  const uint32_t bytes = (uint32_t)flat_number(flat, header, 4);
  if (flat_value(flat, plan, 1, 2, 0) != VERSION_MAJOR ||
      flat_value(flat, plan, 2, 2, 0) != VERSION_MINOR) {
    return refuse(root, SECOND_STRUCTURE, "another version of the format", 0);
  }
  if (bytes > flat->size || bytes < 8 || header > bytes - 8) {
    return refuse(root, SECOND_STRUCTURE, "the header's size is not the file's", bytes);
  }
  flat->size = bytes;
  flat->tables_left = bytes / 8;
  if (!flat_verify(flat, 0, PLAN, UINT32_MAX, DEEPEST)) {
    return refuse(root, SECOND_STRUCTURE, "an offset leads nowhere, or a text has no end", 0);
  }
  root->section_list = flat_list(flat, plan, 8);
  root->spaces = flat_list(flat, plan, 7).count;
  root->backend_list = flat_list(flat, plan, 9);
  root->kernels = flat_list(flat, plan, 10).count;
  return true;
}

void second_check(const uint8_t* file, size_t bytes, struct second_answer* answer) {
  answer->found = SECOND_PASSED;
  answer->reason[0] = '\0';
  struct flat flat = {file, bytes < INT32_MAX ? (uint32_t)bytes : INT32_MAX, 0};
  struct program root = {.flat = &flat, .file_bytes = bytes, .answer = answer};
  if (!open_plan(&root)) return;
  const struct list programs = flat_list(&flat, flat_follow(&flat, 0), 11);
  if (programs.count == 0) (void)refuse(&root, SECOND_BOUNDS, "no program", 0);
  for (uint32_t i = 0; i < programs.count && answer->found == SECOND_PASSED; ++i) {
    struct program program = root;
    program.table = flat_table(&flat, programs, i);
    (void)(read_program(&program) && check_bounds(&program) && check_schedule(&program) &&
           check_pipeline(&program) && check_order(&program) && check_memory(&program));
    free_program(&program);
  }
}
