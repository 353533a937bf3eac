/* Storages that share bytes of an arena take turns: one is done before the other is written, but
 * for the op that works in place. */
#include "tests/second_check/memory.h"

static bool is_same_window(const struct program* program, uint32_t a, uint32_t b) {
  const struct tensor* left = &program->tensors[a];
  const struct tensor* right = &program->tensors[b];
  return left->offset == right->offset &&
         element_bytes(left->dtype) == element_bytes(right->dtype) &&
         flat_same(program->flat, left->dims, right->dims) &&
         flat_same(program->flat, left->strides, right->strides);
}

/* The op that writes storage `after` over just what it reads of `before`, or NOTHING. */
static uint32_t op_in_place(const struct memory* memory, uint32_t before, uint32_t after) {
  const struct program* program = memory->program;
  const struct use* writer = NULL;
  for (uint32_t i = memory->begin[after]; i < memory->begin[after + 1]; ++i) {
    if (!memory->uses[i].writes) continue;
    if (writer != NULL) return NOTHING;
    writer = &memory->uses[i];
  }
  if (writer == NULL || writer->op == CALLER || writer->role != OPERAND ||
      program->storages[before].offset != program->storages[after].offset ||
      program->storages[before].bytes != program->storages[after].bytes) {
    return NOTHING;
  }
  const struct op* op = &program->ops[writer->op];
  if (op->in_place < 0 || flat_word(program->flat, op->outputs, 0) != writer->tensor ||
      op->group != NOTHING ||
      (op->fallback_kernel >= 0 && writing_segment(memory, before) != op->segment)) {
    return NOTHING;
  }
  const uint32_t taken = flat_word(program->flat, op->inputs, (uint32_t)op->in_place);
  if (program->tensors[taken].storage != before) return NOTHING;
  for (uint32_t i = 0; i < op->inputs.count; ++i) {
    const uint32_t input = flat_word(program->flat, op->inputs, i);
    if (input == NOTHING || program->tensors[input].storage != before) continue;
    if (!is_same_window(program, input, writer->tensor)) return NOTHING;
  }
  return writer->op;
}

/* True if all uses of one storage come before all writes of the other. */
static bool is_done_before(const struct memory* memory, uint32_t before, uint32_t after) {
  const uint32_t in_place = op_in_place(memory, before, after);
  for (uint32_t i = memory->begin[after]; i < memory->begin[after + 1]; ++i) {
    const struct use* writer = &memory->uses[i];
    if (!writer->writes) continue;
    if (writer->op == CALLER) return false;
    for (uint32_t k = memory->begin[before]; k < memory->begin[before + 1]; ++k) {
      const struct use* use = &memory->uses[k];
      if (use->op == CALLER ? use->writes
                            : happens_before(memory->program, use->last, writer->first)) {
        continue;
      }
      if (in_place == NOTHING || use->op != in_place || use->writes) return false;
    }
  }
  return true;
}

static bool is_written(const struct memory* memory, uint32_t storage) {
  for (uint32_t i = memory->begin[storage]; i < memory->begin[storage + 1]; ++i) {
    if (memory->uses[i].writes) return true;
  }
  return false;
}

bool check_turns(struct memory* memory) {
  struct program* program = memory->program;
  for (uint32_t a = 0; a < program->storage_list.count; ++a) {
    const struct storage* left = &program->storages[a];
    if (!is_written(memory, a)) continue;
    for (uint32_t b = a + 1; b < program->storage_list.count; ++b) {
      const struct storage* right = &program->storages[b];
      if (left->index != right->index || left->bytes == 0 || right->bytes == 0 ||
          left->offset >= right->offset + right->bytes ||
          right->offset >= left->offset + left->bytes || !is_written(memory, b)) {
        continue;
      }
      if (!spend(memory, 1)) return false;
      if (!is_done_before(memory, a, b) && !is_done_before(memory, b, a)) {
        return refuse(program, SECOND_OVERLAP, "shares bytes with one that is alive: storage", b);
      }
    }
  }
  return true;
}
