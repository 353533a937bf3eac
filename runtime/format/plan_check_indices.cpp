// Plan check, part 1: every number that names or measures something is in range.
#include <cstring>

#include "runtime/base/shape.hpp"
#include "runtime/format/plan_check_state.hpp"
#include "runtime/ops/op_kind.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::plan_check {
namespace {

constexpr uint32_t kLargestElement = 8;  // bytes
// Sums of a few such numbers stay far from overflow.
constexpr PlanBytes kMaxArenaBytes = PlanBytes{1} << (8 * sizeof(PlanBytes) - 2);

bool IsPowerOfTwo(uint32_t value) { return value != 0 && (value & (value - 1)) == 0; }

/// True of storages that stay inside a device while it runs a segment by code.
bool IsInDevice(const CheckedProgram& check, const StorageInfo& storage) {
  if constexpr (kHasDevices) {
    return storage.home == StorageHome::kDevice && storage.index < check.program.segment_count() &&
           check.program.segment_code_count(storage.index) > 0 && storage.offset == 0;
  }
  return false;
}

/// The arena or section in which a storage lies, or the storage alone where it is in a device.
struct Home {
  PlanBytes bytes;
  uint32_t alignment;  ///< 0: it is in no arena and no section
};
[[gnu::noinline]] Home HomeOf(const CheckedProgram& check, const StorageInfo& storage) {
  if (storage.home == StorageHome::kArena && storage.index < check.program.arena_count()) {
    const ArenaInfo arena = check.program.arena(storage.index);
    return {arena.bytes, arena.alignment};
  }
  if (storage.home == StorageHome::kSection && storage.index < check.plan.section_count()) {
    const SectionInfo section = check.plan.section(storage.index);
    return {section.bytes, section.alignment};
  }
  if (IsInDevice(check, storage)) return {storage.bytes, kLargestElement};
  return {0, 0};
}

void CheckStorageIndices(const CheckedProgram& check) {
  const ProgramView& program = check.program;
  for (size_t i = 0; i < program.arena_count(); ++i) {
    const ArenaInfo arena = program.arena(i);
    if (arena.space >= check.plan.space_count() || !IsPowerOfTwo(arena.alignment) ||
        arena.slots == 0 || (!kHasWorkers && arena.slots > 1) ||
        arena.bytes > kMaxArenaBytes / arena.slots) {
      check.Fail(program.name(), "arena {0}: memory space, size, alignment or slots out of range",
                 i);
    }
  }
  // An arena's alignment of 0 has been reported above.
  for (size_t i = 0; i < check.storages; ++i) {
    const StorageInfo storage = program.storage(i);
    const Home home = HomeOf(check, storage);
    if (home.alignment == 0) {
      check.Fail(program.name(), "storage {0} is in no arena and no section", i);
    } else if (storage.offset > home.bytes || storage.bytes > home.bytes - storage.offset) {
      check.Fail(program.name(), "storage {0} reaches over the end of its arena or section", i);
    }
  }
}

/// Looks at dims and strides, as Shape::IsValid does and not negative. `extent`: elements from the
/// first to the last, both included; below 2^62.
bool HasValidShape(const TensorInfo& tensor, uint64_t* extent) {
  const size_t rank = tensor.dims.size();
  if (rank > kMaxRank || tensor.strides.size() != rank) return false;
  uint64_t count = 1;
  bool is_empty = false;
  *extent = 1;
  for (size_t i = 0; i < rank; ++i) {
    const auto dim = static_cast<uint32_t>(tensor.dims[i]);
    const auto stride = static_cast<uint32_t>(tensor.strides[i]);
    if (dim > INT32_MAX || stride > INT32_MAX) return false;
    if (dim == 0) {
      is_empty = true;
      continue;
    }
    count = static_cast<uint32_t>(count) * uint64_t{dim};
    if (count > INT32_MAX) return false;
    *extent += uint64_t{dim - 1} * stride;
  }
  if (is_empty) *extent = 0;
  return true;
}

void CheckTensor(const CheckedProgram& check, const TensorInfo& tensor, size_t index) {
  const ProgramView& program = check.program;
  uint64_t extent = 0;
  if (!IsValidDType(static_cast<int>(tensor.dtype)) || tensor.storage >= check.storages ||
      !HasValidShape(tensor, &extent)) {
    check.Fail(tensor.name, "tensor {0}: dtype, storage, dims or strides out of range", index);
    return;
  }
  const StorageInfo storage = program.storage(tensor.storage);
  const auto element = static_cast<uint32_t>(DTypeBytes(tensor.dtype));
  if (tensor.offset > storage.bytes || extent > (storage.bytes - tensor.offset) / element) {
    check.Fail(tensor.name, "tensor {0} reaches over the end of its storage", index);
  }
  if (HomeOf(check, storage).alignment < element ||
      (storage.offset + tensor.offset) % element != 0) {
    check.Fail(tensor.name, "tensor {0} is not aligned to its element", index);
  }
}

bool IsConstant(const CheckedProgram& check, uint32_t tensor) {
  return check.StorageOf(tensor).home == StorageHome::kSection;
}

/// Where there are no devices, what is no constant is in an arena: one look less in firmware.
bool IsInArena(const CheckedProgram& check, uint32_t tensor) {
  if constexpr (!kHasDevices) return !IsConstant(check, tensor);
  return check.StorageOf(tensor).home == StorageHome::kArena;
}

/// False for what is in memory that the caller keeps an input in.
bool IsInPlannedArena(const CheckedProgram& check, uint32_t tensor) {
  return IsInArena(check, tensor) && !IsOnlyRead(check, check.StorageOf(tensor));
}

void CheckWorkspace(const CheckedProgram& check, int32_t workspace, const char* op, size_t index) {
  if (workspace < 0) return;
  const auto tensor = static_cast<uint32_t>(workspace);
  if (!IsInArena(check, tensor) || check.program.tensor(tensor).dtype != DType::kU8) {
    check.Fail(op, "op {0}: its workspace is in no arena, or not of bytes", index);
  }
}

void CheckOp(const CheckedProgram& check, const OpInfo& op, size_t index) {
  const auto tensors = static_cast<uint32_t>(check.tensors);
  const auto is_operand = [&](int32_t tensor) { return static_cast<uint32_t>(tensor) < tensors; };
  const auto is_optional = [&](int32_t tensor) { return tensor == -1 || is_operand(tensor); };
  bool in_range = !op.outputs.empty() && op.outputs.size() <= kMaxOutputs &&
                  is_optional(op.workspace) &&
                  (!kHasDevices || is_optional(op.fallback_workspace)) && op.in_place >= -1 &&
                  op.in_place < static_cast<int32_t>(op.inputs.size());
  for (const int32_t input : op.inputs) in_range &= is_optional(input);
  for (const int32_t output : op.outputs) {
    in_range &= is_operand(output);
    if (is_operand(output) && IsConstant(check, static_cast<uint32_t>(output))) {
      check.Fail(op.name, "op {0} writes a constant, tensor {1}", index,
                 static_cast<size_t>(output));
    }
  }
  if (op.in_place >= 0 && in_range) in_range = op.inputs[static_cast<size_t>(op.in_place)] >= 0;
  if (kHasDevices && op.fallback_workspace >= 0 && op.fallback_kernel < 0) {
    check.Fail(op.name, "op {0}: a fall-back workspace without a kernel", index);
  }
  if (!in_range) {
    check.Fail(op.name, "op {0}: operand out of range", index);
  } else {
    CheckWorkspace(check, op.workspace, op.name, index);
    if (kHasDevices) CheckWorkspace(check, op.fallback_workspace, op.name, index);
  }
  if (op.kind >= kOpKindCount || op.attributes.size() > kMaxAttributeWords) {
    check.Fail(op.name, "op {0}: kind or number of attributes out of range", index);
  }
  const size_t kernels = check.plan.kernel_count();
  if (op.kernel >= kernels ||
      (kHasDevices &&
       (op.fallback_kernel < -1 || op.fallback_kernel >= static_cast<int64_t>(kernels)))) {
    check.Fail(op.name, "op {0}: no such kernel", index);
  }
}

/// A port is a tensor in an arena. One that stands for real numbers is of bytes and says in a sound
/// way which.
void CheckPort(const CheckedProgram& check, const PortInfo& port) {
  if (port.tensor >= check.tensors || !IsInArena(check, port.tensor)) {
    return check.Fail(port.name, "input or output is no tensor in an arena");
  }
  const DType dtype = check.program.tensor(port.tensor).dtype;
  const bool is_byte = dtype == DType::kI8 || dtype == DType::kU8;
  const int32_t least = dtype == DType::kI8 ? -128 : 0;
  // By its bits: not zero, whatever the sign; positive and finite.
  uint32_t bits = 0;
  std::memcpy(&bits, &port.scale, sizeof bits);
  constexpr uint32_t kLargest = 0x7F7FFFFF;
  const bool has_scale = bits - 1 < kLargest;
  const auto above_least = static_cast<uint32_t>(port.zero_point) - static_cast<uint32_t>(least);
  const bool is_plain = (bits << 1 | static_cast<uint32_t>(port.zero_point)) == 0;
  if (!is_plain && !(is_byte && has_scale && above_least <= 255)) {
    check.Fail(port.name, "port has a scale or zero point that it cannot have");
  }
}

bool IsSame(Span<const int32_t> a, Span<const int32_t> b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof *a.data()) == 0);
}

/// What is read has the type of what is written, and a first value that fits. (That both are plain
/// arrays of their own, loading checks, as of ports.)
bool IsSoundState(const CheckedProgram& check, const StateInfo& state) {
  if (state.read >= check.tensors || state.write >= check.tensors) return false;
  if (!IsInPlannedArena(check, state.read) || !IsInArena(check, state.write)) return false;
  const TensorInfo read = check.program.tensor(state.read);
  const TensorInfo write = check.program.tensor(state.write);
  // A state's write may be the end of the storage that its read is the beginning of.
  const PlanBytes bytes = check.program.storage(read.storage).bytes - write.offset;
  if (read.dtype != write.dtype || !IsSame(read.dims, write.dims) || bytes == 0) return false;
  if (state.initial == -1) return true;
  if (static_cast<uint32_t>(state.initial) >= check.storages) return false;
  const StorageInfo initial = check.program.storage(static_cast<uint32_t>(state.initial));
  return initial.home == StorageHome::kSection && initial.bytes == bytes;
}

void CheckStates(const CheckedProgram& check) {
  const ProgramView& program = check.program;
  const size_t count = program.state_count();
  for (size_t i = 0; i < count; ++i) {
    if (!IsSoundState(check, program.state(i))) {
      check.Fail(program.name(),
                 "state {0}: no such tensors, of two types, or a first value that "
                 "does not fit",
                 i);
    }
  }
  if (count > 0 && program.mode() == static_cast<uint8_t>(ProgramMode::kPipeline)) {
    check.Fail(program.name(), "a pipeline keeps state, which its stages would read too early");
  }
}

}  // namespace

bool CheckIndices(CheckedProgram& check) {
  const ProgramView& program = check.program;
  const size_t before = check.reporter.count();
  CheckStorageIndices(check);
  if (check.reporter.count() != before) return false;
  for (size_t i = 0; i < check.tensors; ++i) CheckTensor(check, program.tensor(i), i);
  if (check.reporter.count() != before) return false;
  for (size_t i = 0; i < check.ops; ++i) CheckOp(check, program.op(i), i);
  if (program.mode() > static_cast<uint8_t>(ProgramMode::kFallback) ||
      (!kHasState && program.state_count() > 0)) {
    check.Fail(program.name(), "unknown mode, or state, which this runtime was built without");
  }
  for (size_t i = 0; i < program.input_count(); ++i) CheckPort(check, program.input(i));
  for (size_t i = 0; i < program.output_count(); ++i) CheckPort(check, program.output(i));
  if (kHasState) CheckStates(check);
  return check.reporter.count() == before;
}

}  // namespace tenon::plan_check
