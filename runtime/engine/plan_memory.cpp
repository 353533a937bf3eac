#include "runtime/engine/plan_memory.hpp"

#include "runtime/base/dtype.hpp"

namespace tenon {
namespace {

/// True of a row-major array of `bytes`, in an arena. The plan check has proven that the tensor has
/// less than 2^31 elements.
bool IsArray(const ProgramView& program, const TensorInfo& tensor, PlanBytes bytes) {
  const StorageInfo storage = program.storage(tensor.storage);
  uint32_t elements = 1;
  bool is_row_major = true;
  for (size_t i = tensor.dims.size(); i-- > 0;) {
    const auto dim = static_cast<uint32_t>(tensor.dims[i]);
    is_row_major &= dim == 1 || static_cast<uint32_t>(tensor.strides[i]) == elements;
    elements *= dim;
  }
  const auto element_bytes = static_cast<uint32_t>(DTypeBytes(tensor.dtype));
  return storage.home == StorageHome::kArena && (is_row_major || elements == 0) &&
         bytes == uint64_t{elements} * element_bytes;
}

bool IsWholeStorage(const ProgramView& program, const TensorInfo& tensor) {
  return tensor.offset == 0 && IsArray(program, tensor, program.storage(tensor.storage).bytes);
}

/// The bytes of all slots of an arena, or more than `most`.
uint64_t BytesUpTo(const ArenaInfo& arena, uint64_t most) {
  // The plan check has bounded what a slot takes, so that only the product can overflow.
  const uint64_t slot = SlotStride(arena);
  return slot <= most / arena.slots ? slot * arena.slots : UINT64_MAX;
}

}  // namespace

size_t PortCount(const ProgramView& program) {
  return program.input_count() + program.output_count();
}

PortInfo PortAt(const ProgramView& program, size_t port) {
  const size_t inputs = program.input_count();
  return port < inputs ? program.input(port) : program.output(port - inputs);
}

Status CheckArenas(const ProgramView& program) {
  uint64_t left = PTRDIFF_MAX;
  for (size_t i = 0; i < program.arena_count(); ++i) {
    const ArenaInfo arena = program.arena(i);
    const uint64_t bytes = BytesUpTo(arena, left);
    TENON_ENSURE(arena.alignment <= left && bytes <= left - arena.alignment, kOutOfMemory,
                 "arena {0} has more bytes than this processor can address",
                 static_cast<int64_t>(i));
    left -= bytes + arena.alignment;
  }
  return OkStatus();
}

Status CheckPorts(const ProgramView& program, uint8_t* marks) {
  for (size_t i = 0; i < program.storage_count(); ++i) marks[i] = 0;
  const auto take = [&](uint32_t storage) { return marks[storage]++ == 0; };
  const auto is_array_of_its_own = [&](uint32_t index) {
    const TensorInfo tensor = program.tensor(index);
    return take(tensor.storage) && IsWholeStorage(program, tensor);
  };
  // What a state writes is all of another storage than it reads, or the end of the same.
  // NOLINTNEXTLINE(clang-analyzer-deadcode.DeadStores): of a build without states nothing asks it
  const auto is_kept = [&](const StateInfo& state) {
    const TensorInfo read = program.tensor(state.read);
    const TensorInfo write = program.tensor(state.write);
    const bool is_window = read.storage == write.storage;
    const PlanBytes bytes = program.storage(read.storage).bytes - write.offset;
    return take(read.storage) && (is_window || take(write.storage)) &&
           is_window == (write.offset != 0) && read.offset == 0 && IsArray(program, read, bytes) &&
           IsArray(program, write, program.storage(write.storage).bytes - write.offset);
  };
  const size_t ports = PortCount(program);
  for (size_t i = 0; i < ports; ++i) {
    const PortInfo port = PortAt(program, i);
    if (!is_array_of_its_own(port.tensor)) {
      return Status(StatusCode::kCorruptPlan,
                    "input or output '{s}' is not a row-major array of its own")
          .About(port.name);
    }
  }
  for (size_t i = 0; kHasState && i < program.state_count(); ++i) {
    TENON_ENSURE(is_kept(program.state(i)), kCorruptPlan,
                 "state {0} is not kept in row-major arrays of its own", static_cast<int64_t>(i));
  }
  return OkStatus();
}

}  // namespace tenon
