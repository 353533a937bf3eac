/* Every byte that is read has been written before, by one alone; storages that share bytes of an
 * arena take turns. With a map of who writes each byte of a storage. */
#include "tests/second_check/memory.h"

#include <stdlib.h>

#define MOST_STORAGE_BYTES ((uint64_t)1 << 24)
#define MOST_WORK ((uint64_t)1 << 30)

/* Levels of bytes: count[0] in a row, count[1] such rows pitch[1] apart, and so on. */
struct region {
  uint32_t levels;
  uint64_t count[MOST_DIMS + 1];
  uint64_t pitch[MOST_DIMS + 1];
  uint64_t offset;
  uint64_t end;
  bool is_empty;
  bool is_distinct;
};

/* Dims sorted by stride; where one's is smaller than what the ones before it reach over, elements
 * may share bytes, and everything between the first and the last counts. */
static struct region region_of(const struct program* program, uint32_t id) {
  const struct tensor* tensor = &program->tensors[id];
  struct region region = {.levels = 1, .offset = tensor->offset, .is_distinct = true};
  uint64_t sorted_count[MOST_DIMS];
  uint64_t sorted_pitch[MOST_DIMS];
  uint32_t rank = 0;
  const uint64_t element = element_bytes(tensor->dtype);
  for (uint32_t i = 0; i < tensor->dims.count; ++i) {
    const uint64_t count = flat_word(program->flat, tensor->dims, i);
    const uint64_t pitch = element * flat_word(program->flat, tensor->strides, i);
    region.is_empty |= count == 0;
    if (count > 1 && pitch == 0) region.is_distinct = false;
    if (count <= 1 || pitch == 0) continue;
    uint32_t at = rank++;
    for (; at > 0 && sorted_pitch[at - 1] > pitch; --at) {
      sorted_pitch[at] = sorted_pitch[at - 1];
      sorted_count[at] = sorted_count[at - 1];
    }
    sorted_pitch[at] = pitch;
    sorted_count[at] = count;
  }
  region.count[0] = element;
  region.pitch[0] = 1;
  uint64_t reach = element;
  for (uint32_t i = 0; i < rank; ++i) {
    const uint64_t further = reach + (sorted_count[i] - 1) * sorted_pitch[i];
    if (sorted_pitch[i] < reach) {
      region.is_distinct = false;
      region.levels = 1;
      region.count[0] = further;
    } else {
      region.count[region.levels] = sorted_count[i];
      region.pitch[region.levels++] = sorted_pitch[i];
    }
    reach = further;
  }
  region.end = region.offset + (region.is_empty ? 0 : reach);
  region.is_distinct |= region.is_empty;
  return region;
}

/* True if the byte is one of the region's, whose levels lie inside one another. */
static bool covers(const struct region* region, uint64_t byte) {
  if (byte < region->offset || byte >= region->end) return false;
  byte -= region->offset;
  for (uint32_t level = region->levels - 1; level > 0; --level) {
    const uint64_t part = byte / region->pitch[level];
    const uint64_t last = region->count[level] - 1;
    byte -= (part < last ? part : last) * region->pitch[level];
  }
  return byte < region->count[0];
}

bool spend(struct memory* memory, uint64_t work) {
  memory->work += work + 1;
  return memory->work <= MOST_WORK ||
         refuse(memory->program, SECOND_TOO_LARGE, "too many bytes to look at", memory->work);
}

static bool is_written_before(const struct memory* memory, uint32_t owner,
                              const struct use* reader) {
  if (owner == 0) return false;
  const struct use* writer = &memory->uses[owner - 1];
  return writer->op == CALLER || reader->op == CALLER ||
         happens_before(memory->program, writer->op, reader->op);
}

/* Marks the bytes that a writer writes, or looks at the marks on those that a reader reads. */
static bool walk(struct memory* memory, const struct use* use) {
  const struct region region = region_of(memory->program, use->tensor);
  if (!spend(memory, region.end - region.offset)) return false;
  uint32_t known = NOTHING;
  for (uint64_t byte = region.offset; byte < region.end; ++byte) {
    uint32_t* owner = &memory->owner[byte];
    if (!covers(&region, byte) || *owner == known) continue;
    if (!use->writes && !is_written_before(memory, *owner, use)) {
      return refuse(memory->program, SECOND_ORDER, "read before it is written: tensor",
                    use->tensor);
    }
    if (use->writes && *owner != 0) {
      return refuse(memory->program, SECOND_OVERLAP, "two write a byte of tensor", use->tensor);
    }
    if (use->writes) *owner = (uint32_t)(use - memory->uses) + 1;
    known = use->writes ? NOTHING : *owner;
  }
  return true;
}

bool share_bytes(struct memory* memory, const struct use* a, const struct use* b) {
  const struct storage* storages = memory->program->storages;
  struct region in[] = {region_of(memory->program, a->tensor),
                        region_of(memory->program, b->tensor)};
  for (int i = 0; i < 2; ++i) {
    in[i].offset += storages[(i == 0 ? a : b)->storage].offset;
    in[i].end += storages[(i == 0 ? a : b)->storage].offset;
  }
  for (uint64_t byte = in[0].offset; byte < in[0].end; ++byte) {
    if (!spend(memory, 1) || (covers(&in[0], byte) && covers(&in[1], byte))) return true;
  }
  return false;
}

uint32_t writing_segment(const struct memory* memory, uint32_t storage) {
  uint32_t segment = NOTHING;
  for (uint32_t i = memory->begin[storage]; i < memory->begin[storage + 1]; ++i) {
    const struct use* use = &memory->uses[i];
    if (!use->writes) continue;
    if (use->op == CALLER) return NOTHING;
    const uint32_t its = memory->program->ops[use->op].segment;
    if (segment != NOTHING && segment != its) return NOTHING;
    segment = its;
  }
  return segment;
}

/* What a segment with fall-back kernels has not made itself it may need until its end, and the
 * workspaces of those kernels from its start. */
static void stretch(struct memory* memory, uint32_t storage) {
  const struct program* program = memory->program;
  const uint32_t writer = writing_segment(memory, storage);
  for (uint32_t i = memory->begin[storage]; i < memory->begin[storage + 1]; ++i) {
    struct use* use = &memory->uses[i];
    if (use->op == CALLER || program->ops[use->op].fallback_kernel < 0) continue;
    const uint32_t segment = program->ops[use->op].segment;
    const struct list ops = program->segments[segment].ops;
    if (use->role == FALLBACK) use->first = flat_word(program->flat, ops, 0);
    if (use->role == FALLBACK || (!use->writes && writer != segment)) {
      use->last = flat_word(program->flat, ops, ops.count - 1);
    }
  }
}

/* Fall-back kernels' workspaces may share a storage: one of each op of a segment, and nothing else.
 * Returns false for other storages, and for what it refuses. */
static bool is_fallback_storage(struct memory* memory, uint32_t storage) {
  const uint32_t begin = memory->begin[storage];
  const uint32_t end = memory->begin[storage + 1];
  uint32_t workspaces = 0;
  for (uint32_t i = begin; i < end; ++i) workspaces += memory->uses[i].role == FALLBACK;
  if (workspaces == 0) return false;
  bool is_sound = workspaces == end - begin && writing_segment(memory, storage) != NOTHING;
  for (uint32_t i = begin; i < end && is_sound; ++i) {
    is_sound = region_of(memory->program, memory->uses[i].tensor).is_distinct;
    for (uint32_t k = i + 1; k < end; ++k) is_sound &= memory->uses[k].op != memory->uses[i].op;
  }
  return is_sound ||
         refuse(memory->program, SECOND_OVERLAP, "shares a fall-back workspace, storage", storage);
}

static bool check_writer(struct memory* memory, uint32_t storage, const struct use* use) {
  const uint32_t uses = memory->begin[storage + 1] - memory->begin[storage];
  if (!region_of(memory->program, use->tensor).is_distinct) {
    return refuse(memory->program, SECOND_OVERLAP, "elements that are written share bytes: tensor",
                  use->tensor);
  }
  if (use->role == WORKSPACE && uses > 1) {
    return refuse(memory->program, SECOND_OVERLAP, "a workspace is used elsewhere: tensor",
                  use->tensor);
  }
  if (use->op != CALLER &&
      memory->program->arenas[memory->program->storages[storage].index].use != 0) {
    return refuse(memory->program, SECOND_OVERLAP, "written where only the caller does: tensor",
                  use->tensor);
  }
  return walk(memory, use);
}

static bool check_storage(struct memory* memory, uint32_t storage) {
  const uint32_t begin = memory->begin[storage];
  const uint32_t end = memory->begin[storage + 1];
  uint64_t reach = 0;
  for (uint32_t i = begin; i < end; ++i) {
    const struct region region = region_of(memory->program, memory->uses[i].tensor);
    if (region.end > reach) reach = region.end;
  }
  stretch(memory, storage);
  if (is_fallback_storage(memory, storage)) return true;
  if (memory->program->answer->found != SECOND_PASSED) return false;
  if (reach > MOST_STORAGE_BYTES) {
    return refuse(memory->program, SECOND_TOO_LARGE, "too many bytes in storage", storage);
  }
  memory->owner = calloc(reach + 1, sizeof *memory->owner);
  bool passes = memory->owner != NULL ||
                refuse(memory->program, SECOND_TOO_LARGE, "no memory for storage", storage);
  for (uint32_t i = begin; i < end && passes; ++i) {
    if (memory->uses[i].writes) passes = check_writer(memory, storage, &memory->uses[i]);
  }
  for (uint32_t i = begin; i < end && passes; ++i) {
    if (!memory->uses[i].writes) passes = walk(memory, &memory->uses[i]);
  }
  free(memory->owner);
  memory->owner = NULL;
  return passes;
}

/* Counts a use, or, once there is room, notes it. What is inside a device is used by its segment's
 * ops alone, which have no fall-back. */
static void add_use(struct memory* memory, uint32_t tensor, uint32_t op, bool writes,
                    enum role role) {
  const struct program* program = memory->program;
  const uint32_t storage = program->tensors[tensor].storage;
  const struct storage* its = &program->storages[storage];
  if (its->home == 2 &&
      (its->index != program->ops[op].segment || program->ops[op].fallback_kernel >= 0)) {
    (void)refuse(memory->program, SECOND_BOUNDS, "inside a device is an operand of op", op);
  }
  if (its->home != 0) return;
  if (memory->uses == NULL) {
    ++memory->begin[storage];
    ++memory->count;
    return;
  }
  memory->uses[--memory->begin[storage]] = (struct use){storage, tensor, op, op, op, writes, role};
}

static void add_uses(struct memory* memory) {
  const struct program* program = memory->program;
  const struct flat* flat = program->flat;
  for (uint32_t i = 0; i < program->input_list.count; ++i) {
    add_use(memory, port_tensor(program, program->input_list, i), CALLER, true, OPERAND);
  }
  for (uint32_t i = 0; i < program->output_list.count; ++i) {
    add_use(memory, port_tensor(program, program->output_list, i), CALLER, false, OPERAND);
  }
  for (uint32_t i = 0; i < program->state_list.count; ++i) {
    const uint32_t read = struct_word(program, program->state_list, i, 3, 0);
    add_use(memory, read, CALLER, true, OPERAND);
    add_use(memory, read, CALLER, false, OPERAND);
    add_use(memory, struct_word(program, program->state_list, i, 3, 1), CALLER, false, OPERAND);
  }
  for (uint32_t i = 0; i < program->op_list.count; ++i) {
    const struct op* op = &program->ops[i];
    for (uint32_t k = 0; k < op->inputs.count; ++k) {
      const uint32_t input = flat_word(flat, op->inputs, k);
      if (input != NOTHING) add_use(memory, input, i, false, OPERAND);
    }
    if (op->condition >= 0) add_use(memory, (uint32_t)op->condition, i, false, OPERAND);
    for (uint32_t k = 0; k < op->outputs.count; ++k) {
      add_use(memory, flat_word(flat, op->outputs, k), i, true, OPERAND);
    }
    if (op->workspace >= 0) add_use(memory, (uint32_t)op->workspace, i, true, WORKSPACE);
    if (op->fallback_workspace >= 0) {
      add_use(memory, (uint32_t)op->fallback_workspace, i, true, FALLBACK);
    }
  }
}

bool check_memory(struct program* program) {
  struct memory memory = {.program = program};
  const uint32_t storages = program->storage_list.count;
  memory.begin = calloc((size_t)storages + 1, sizeof *memory.begin);
  if (memory.begin != NULL) {
    add_uses(&memory);
    for (uint32_t i = 1; i <= storages; ++i) memory.begin[i] += memory.begin[i - 1];
    memory.uses = calloc((size_t)memory.count + 1, sizeof *memory.uses);
  }
  bool passes = memory.uses != NULL || refuse(program, SECOND_TOO_LARGE, "no memory for uses", 0);
  if (passes) add_uses(&memory);
  passes = program->answer->found == SECOND_PASSED;
  for (uint32_t i = 0; i < storages && passes; ++i) passes = check_storage(&memory, i);
  passes = passes && check_turns(&memory) && check_stage_uses(&memory);
  free(memory.uses);
  free(memory.begin);
  return passes;
}
