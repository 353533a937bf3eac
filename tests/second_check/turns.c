/* Storages that share bytes of an arena take turns at each of them: one is done there before the
 * other is written, but for the op that works in place. */
#include "tests/second_check/memory.h"

static bool is_same_window(const struct program* program, uint32_t a, uint32_t b) {
  const struct tensor* left = &program->tensors[a];
  const struct tensor* right = &program->tensors[b];
  return left->offset == right->offset &&
         element_bytes(left->dtype) == element_bytes(right->dtype) &&
         flat_same(program->flat, left->dims, right->dims) &&
         flat_same(program->flat, left->strides, right->strides);
}

/* True if the op that writes storage `after` does so over just what it reads of `before`. */
static bool is_in_place(const struct memory* memory, uint32_t before, uint32_t after,
                        const struct use* writer) {
  const struct program* program = memory->program;
  if (writer->op == CALLER || writer->role != OPERAND ||
      program->storages[before].offset != program->storages[after].offset ||
      program->storages[before].bytes != program->storages[after].bytes) {
    return false;
  }
  const struct op* op = &program->ops[writer->op];
  if (op->in_place < 0 || flat_word(program->flat, op->outputs, 0) != writer->tensor ||
      op->group != NOTHING ||
      (op->fallback_kernel >= 0 && writing_segment(memory, before) != op->segment)) {
    return false;
  }
  const uint32_t taken = flat_word(program->flat, op->inputs, (uint32_t)op->in_place);
  if (program->tensors[taken].storage != before) return false;
  for (uint32_t i = 0; i < op->inputs.count; ++i) {
    const uint32_t input = flat_word(program->flat, op->inputs, i);
    if (input == NOTHING || program->tensors[input].storage != before) continue;
    if (!is_same_window(program, input, writer->tensor)) return false;
  }
  return true;
}

/* True if a use of storage `before` is done when `writer` begins to write `after`. */
static bool is_done(const struct memory* memory, uint32_t before, uint32_t after,
                    const struct use* use, const struct use* writer) {
  if (writer->op == CALLER) return false;
  if (use->op == CALLER) return use->writes;
  return happens_before(memory->program, use->last, writer->first) ||
         (use->op == writer->op && !use->writes && is_in_place(memory, before, after, writer));
}

/* True if a device uses any of the storage: it gets and gives whole ones. */
static bool is_on_device(const struct memory* memory, uint32_t storage) {
  for (uint32_t i = memory->begin[storage]; i < memory->begin[storage + 1]; ++i) {
    const uint32_t op = memory->uses[i].op;
    if (op != CALLER && !is_on_cpu(memory->program, memory->program->ops[op].segment)) return true;
  }
  return false;
}

/* True if, of every byte that both have, all uses of one storage come before all writes of the
 * other. */
static bool is_done_before(struct memory* memory, uint32_t before, uint32_t after) {
  const bool is_whole = is_on_device(memory, before) || is_on_device(memory, after);
  for (uint32_t i = memory->begin[after]; i < memory->begin[after + 1]; ++i) {
    const struct use* writer = &memory->uses[i];
    for (uint32_t k = memory->begin[before]; writer->writes && k < memory->begin[before + 1]; ++k) {
      const struct use* use = &memory->uses[k];
      if (!is_done(memory, before, after, use, writer) &&
          (is_whole || share_bytes(memory, use, writer))) {
        return false;
      }
    }
  }
  return true;
}

bool check_turns(struct memory* memory) {
  struct program* program = memory->program;
  for (uint32_t a = 0; a < program->storage_list.count; ++a) {
    const struct storage* left = &program->storages[a];
    for (uint32_t b = a + 1; b < program->storage_list.count; ++b) {
      const struct storage* right = &program->storages[b];
      if (left->index != right->index || left->bytes == 0 || right->bytes == 0 ||
          left->offset >= right->offset + right->bytes ||
          right->offset >= left->offset + left->bytes) {
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
