/* Whatever names or measures something is in range; tensors lie inside their storages, storages
 * inside their arenas and sections; elements are aligned. */
#include "tests/second_check/program.h"

#define MOST_ARENA_BYTES ((uint64_t)1 << 62)
#define MOST_OUTPUTS 4

static bool is_power_of_two(uint64_t value) { return value != 0 && (value & (value - 1)) == 0; }

/* True of a segment that a device runs by code. */
static bool runs_by_code(const struct program* program, uint32_t segment) {
  enum { SEGMENT_CODE = 5 };
  const uint32_t table = flat_table(program->flat, program->segment_list, segment);
  return flat_list(program->flat, table, SEGMENT_CODE).count > 0;
}

/* Bytes and alignment of the arena or section of a storage; alignment 0: there is none. */
static uint64_t home_of(const struct program* program, const struct storage* storage,
                        uint64_t* alignment) {
  *alignment = 0;
  if (storage->home == 0 && storage->index < program->arena_list.count) {
    *alignment = program->arenas[storage->index].alignment;
    return program->arenas[storage->index].bytes;
  }
  if (storage->home == 2 && storage->index < program->segment_list.count && storage->offset == 0 &&
      runs_by_code(program, storage->index)) {
    *alignment = 8;
    return storage->bytes;
  }
  if (storage->home == 1 && storage->index < program->section_list.count) {
    const uint32_t table = flat_table(program->flat, program->section_list, storage->index);
    *alignment = flat_value(program->flat, table, 4, 4, 0);
    return flat_value(program->flat, table, 3, 8, 0);
  }
  return 0;
}

static bool check_sections(struct program* program) {
  const struct flat* flat = program->flat;
  uint64_t end = flat->size;
  for (uint32_t i = 0; i < program->section_list.count; ++i) {
    const uint32_t table = flat_table(flat, program->section_list, i);
    const uint64_t offset = flat_value(flat, table, 2, 8, 0);
    const uint64_t bytes = flat_value(flat, table, 3, 8, 0);
    const uint64_t alignment = flat_value(flat, table, 4, 4, 0);
    if (flat_value(flat, table, 1, 2, 0) >= program->spaces) {
      return refuse(program, SECOND_BOUNDS, "section in no memory space", i);
    }
    if (!is_power_of_two(alignment) || offset % alignment != 0) {
      return refuse(program, SECOND_ALIGNMENT, "section is not aligned", i);
    }
    if (offset < end || offset > program->file_bytes || bytes > program->file_bytes - offset) {
      return refuse(program, SECOND_BOUNDS, "section outside the file or on what precedes it", i);
    }
    end = offset + bytes;
  }
  return true;
}

static bool check_arena(struct program* program, uint32_t index) {
  const struct arena* arena = &program->arenas[index];
  if (arena->space >= program->spaces || arena->slots == 0 ||
      arena->bytes > MOST_ARENA_BYTES / arena->slots) {
    return refuse(program, SECOND_BOUNDS, "arena's space, size or slots out of range", index);
  }
  return is_power_of_two(arena->alignment) ||
         refuse(program, SECOND_ALIGNMENT, "arena's alignment is no power of two", index);
}

static bool check_storage(struct program* program, uint32_t index) {
  const struct storage* storage = &program->storages[index];
  uint64_t alignment = 0;
  const uint64_t bytes = home_of(program, storage, &alignment);
  return (alignment != 0 && storage->offset <= bytes &&
          storage->bytes <= bytes - storage->offset) ||
         refuse(program, SECOND_BOUNDS, "storage without a home, or that reaches over it", index);
}

static bool check_tensor(struct program* program, uint32_t index) {
  const struct tensor* tensor = &program->tensors[index];
  const uint64_t element = element_bytes(tensor->dtype);
  if (element == 0 || tensor->storage >= program->storage_list.count ||
      tensor->dims.count > MOST_DIMS || tensor->strides.count != tensor->dims.count) {
    return refuse(program, SECOND_BOUNDS, "tensor's type, storage or rank out of range", index);
  }
  uint64_t extent = 1;
  uint64_t elements = 1;
  bool is_empty = false;
  for (uint32_t i = 0; i < tensor->dims.count; ++i) {
    const uint64_t dim = flat_word(program->flat, tensor->dims, i);
    const uint64_t stride = flat_word(program->flat, tensor->strides, i);
    if (dim > INT32_MAX || stride > INT32_MAX) {
      return refuse(program, SECOND_BOUNDS, "tensor's dims or strides below zero", index);
    }
    is_empty |= dim == 0;
    if (dim == 0) continue;
    elements *= dim;
    extent += (dim - 1) * stride;
    if (elements > INT32_MAX) return refuse(program, SECOND_BOUNDS, "tensor too large", index);
  }
  if (is_empty) extent = 0;
  const struct storage* storage = &program->storages[tensor->storage];
  if (tensor->offset > storage->bytes || extent > (storage->bytes - tensor->offset) / element) {
    return refuse(program, SECOND_BOUNDS, "tensor reaches over its storage", index);
  }
  uint64_t alignment = 0;
  (void)home_of(program, storage, &alignment);
  if (alignment < element || (storage->offset + tensor->offset) % element != 0) {
    return refuse(program, SECOND_ALIGNMENT, "tensor is not aligned to its element", index);
  }
  return true;
}

bool is_in_arena(const struct program* program, uint32_t tensor) {
  return tensor < program->tensor_list.count &&
         program->storages[program->tensors[tensor].storage].home == 0;
}

static bool is_bytes_in_arena(const struct program* program, int32_t tensor) {
  enum { DTYPE_U8 = 5 };
  if (tensor == -1) return true;
  return is_in_arena(program, (uint32_t)tensor) &&
         program->tensors[(uint32_t)tensor].dtype == DTYPE_U8;
}

static bool check_op(struct program* program, uint32_t index) {
  const struct op* op = &program->ops[index];
  for (uint32_t i = 0; i < op->inputs.count; ++i) {
    const uint32_t input = flat_word(program->flat, op->inputs, i);
    if (input != NOTHING && input >= program->tensor_list.count) {
      return refuse(program, SECOND_BOUNDS, "input of op is no tensor", index);
    }
  }
  if (op->outputs.count == 0 || op->outputs.count > MOST_OUTPUTS) {
    return refuse(program, SECOND_BOUNDS, "1 to 4 outputs has an op, unlike", index);
  }
  for (uint32_t i = 0; i < op->outputs.count; ++i) {
    const uint32_t output = flat_word(program->flat, op->outputs, i);
    if (output >= program->tensor_list.count ||
        program->storages[program->tensors[output].storage].home == 1) {
      return refuse(program, SECOND_BOUNDS, "output of op is no tensor, or a constant", index);
    }
  }
  if (!is_bytes_in_arena(program, op->workspace) ||
      !is_bytes_in_arena(program, op->fallback_workspace) ||
      (op->condition != -1 && !is_in_arena(program, (uint32_t)op->condition))) {
    return refuse(program, SECOND_BOUNDS, "workspace or condition of op is in no arena", index);
  }
  const bool is_in_place = op->in_place >= 0 && (uint32_t)op->in_place < op->inputs.count &&
                           flat_word(program->flat, op->inputs, (uint32_t)op->in_place) != NOTHING;
  if (op->in_place != -1 && !is_in_place) {
    return refuse(program, SECOND_BOUNDS, "op in place of no input", index);
  }
  if (op->kernel >= program->kernels || op->fallback_kernel < -1 ||
      op->fallback_kernel >= (int64_t)program->kernels ||
      (op->fallback_workspace >= 0 && op->fallback_kernel < 0)) {
    return refuse(program, SECOND_BOUNDS, "op without its kernel", index);
  }
  return true;
}

static bool check_state(struct program* program, uint32_t index) {
  const uint32_t read = struct_word(program, program->state_list, index, 3, 0);
  const uint32_t write = struct_word(program, program->state_list, index, 3, 1);
  const uint32_t initial = struct_word(program, program->state_list, index, 3, 2);
  if (!is_in_arena(program, read) || !is_in_arena(program, write)) {
    return refuse(program, SECOND_BOUNDS, "state is no tensor in an arena", index);
  }
  const struct tensor* a = &program->tensors[read];
  const struct tensor* b = &program->tensors[write];
  /* Of a storage that both lie in, `write` is the end. */
  const uint64_t bytes = program->storages[a->storage].bytes - b->offset;
  bool fits = a->dtype == b->dtype && flat_same(program->flat, a->dims, b->dims) && bytes > 0;
  if (fits && initial != NOTHING) {
    fits = initial < program->storage_list.count && program->storages[initial].home == 1 &&
           program->storages[initial].bytes == bytes;
  }
  return fits || refuse(program, SECOND_BOUNDS, "state of two types, or of another size", index);
}

static bool check_ports(struct program* program, struct list ports) {
  for (uint32_t i = 0; i < ports.count; ++i) {
    if (!is_in_arena(program, port_tensor(program, ports, i))) {
      return refuse(program, SECOND_BOUNDS, "port is no tensor in an arena", i);
    }
  }
  return true;
}

static bool check_exchange(struct program* program, uint32_t index) {
  const struct list lists[] = {program->segments[index].reads, program->segments[index].writes};
  for (int which = 0; which < 2; ++which) {
    for (uint32_t i = 0; i < lists[which].count; ++i) {
      if (!is_in_arena(program, flat_word(program->flat, lists[which], i))) {
        return refuse(program, SECOND_BOUNDS, "segment exchanges what is in no arena", index);
      }
    }
  }
  return true;
}

/* A file of n bytes has no more than n operands: else tables share their vectors. */
static bool check_operands(struct program* program) {
  uint64_t operands = (uint64_t)program->input_list.count + program->output_list.count +
                      3 * (uint64_t)program->state_list.count;
  for (uint32_t i = 0; i < program->op_list.count; ++i) {
    operands += (uint64_t)program->ops[i].inputs.count + program->ops[i].outputs.count + 2;
  }
  return operands <= program->file_bytes ||
         refuse(program, SECOND_BOUNDS, "too many operands", operands);
}

bool check_bounds(struct program* program) {
  enum { MOST_MODE = 3 };
  if (!check_operands(program) || !check_sections(program) ||
      !each(program, program->arena_list.count, check_arena) ||
      !each(program, program->storage_list.count, check_storage) ||
      !each(program, program->tensor_list.count, check_tensor) ||
      !each(program, program->op_list.count, check_op) ||
      !each(program, program->state_list.count, check_state) ||
      !each(program, program->segment_list.count, check_exchange)) {
    return false;
  }
  if (program->mode > MOST_MODE || (program->mode == PIPELINE && program->state_list.count > 0)) {
    return refuse(program, SECOND_BOUNDS, "no such mode, or a pipeline with state", program->mode);
  }
  return check_ports(program, program->input_list) && check_ports(program, program->output_list);
}
