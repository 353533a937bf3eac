// Plan check, part 1: every number that names or measures something is in range.
#include <cstring>
#include <initializer_list>
#include <limits>

#include "runtime/base/shape.hpp"
#include "runtime/format/plan_check_state.hpp"
#include "runtime/ops/op_kind.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::plan_check {
namespace {

// Sums of a few such numbers stay far from overflow.
constexpr uint64_t kMaxArenaBytes = uint64_t{1} << 62;

bool IsPowerOfTwo(uint32_t value) { return value != 0 && (value & (value - 1)) == 0; }

void CheckStorageIndices(const ProgramCheck& check) {
  const ProgramView& program = check.program;
  for (size_t i = 0; i < program.arena_count(); ++i) {
    const ArenaInfo arena = program.arena(i);
    if (arena.space >= check.plan.space_count() || !IsPowerOfTwo(arena.alignment) ||
        arena.slots == 0 || arena.bytes > kMaxArenaBytes / arena.slots) {
      check.Fail(program.name(), "arena {0}: memory space, size, alignment or slots out of range",
                 i);
    }
  }
  for (size_t i = 0; i < check.storages; ++i) {
    const StorageInfo storage = program.storage(i);
    uint64_t bytes = 0;
    if (storage.home == StorageHome::kArena && storage.index < program.arena_count()) {
      bytes = program.arena(storage.index).bytes;
    } else if (storage.home == StorageHome::kSection &&
               storage.index < check.plan.section_count()) {
      bytes = check.plan.section(storage.index).bytes;
    } else {
      check.Fail(program.name(), "storage {0} is in no arena and no section", i);
      continue;
    }
    if (storage.offset > bytes || storage.bytes > bytes - storage.offset) {
      check.Fail(program.name(), "storage {0} reaches over the end of its arena or section", i);
    }
  }
}

bool HasValidShape(const TensorInfo& tensor) {
  if (tensor.dims.size() > kMaxRank || tensor.strides.size() != tensor.dims.size()) return false;
  for (const int32_t stride : tensor.strides) {
    if (stride < 0) return false;
  }
  return Shape(tensor.dims.data(), static_cast<int32_t>(tensor.dims.size())).IsValid();
}

/// Elements from the first to the last, both included. With a valid shape below 2^62.
uint64_t Extent(const TensorInfo& tensor) {
  uint64_t extent = 1;
  for (size_t i = 0; i < tensor.dims.size(); ++i) {
    if (tensor.dims[i] == 0) return 0;
    extent += static_cast<uint64_t>(tensor.dims[i] - 1) * static_cast<uint64_t>(tensor.strides[i]);
  }
  return extent;
}

void CheckTensor(const ProgramCheck& check, const TensorInfo& tensor, size_t index) {
  const ProgramView& program = check.program;
  if (!IsValidDType(static_cast<int>(tensor.dtype)) || tensor.storage >= check.storages ||
      !HasValidShape(tensor)) {
    check.Fail(tensor.name, "tensor {0}: dtype, storage, dims or strides out of range", index);
    return;
  }
  const StorageInfo storage = program.storage(tensor.storage);
  const auto element = static_cast<uint64_t>(DTypeBytes(tensor.dtype));
  if (tensor.offset > storage.bytes || Extent(tensor) > (storage.bytes - tensor.offset) / element) {
    check.Fail(tensor.name, "tensor {0} reaches over the end of its storage", index);
  }
  const uint32_t alignment = storage.home == StorageHome::kArena
                                 ? program.arena(storage.index).alignment
                                 : check.plan.section(storage.index).alignment;
  if (alignment < element || (storage.offset + tensor.offset) % element != 0) {
    check.Fail(tensor.name, "tensor {0} is not aligned to its element", index);
  }
}

bool IsConstant(const ProgramCheck& check, uint32_t tensor) {
  return check.StorageOf(tensor).home == StorageHome::kSection;
}

/// True if the kernel called `kernel` belongs to `backend`: "cpu.conv.direct" to "cpu".
bool BelongsTo(const char* kernel, const char* backend) {
  const size_t length = std::strlen(backend);
  return std::strncmp(kernel, backend, length) == 0 && kernel[length] == '.';
}

void CheckOp(const ProgramCheck& check, const OpInfo& op, size_t index) {
  const auto tensors = static_cast<int64_t>(check.program.tensor_count());
  bool in_range = !op.outputs.empty() && op.outputs.size() <= kMaxOutputs && op.workspace >= -1 &&
                  op.workspace < tensors && op.fallback_workspace >= -1 &&
                  op.fallback_workspace < tensors && op.in_place >= -1 &&
                  op.in_place < static_cast<int64_t>(op.inputs.size());
  for (const int32_t input : op.inputs) in_range &= input >= -1 && input < tensors;
  for (const int32_t output : op.outputs) in_range &= output >= 0 && output < tensors;
  if (op.in_place >= 0 && in_range) in_range = op.inputs[static_cast<size_t>(op.in_place)] >= 0;
  if (!in_range) check.Fail(op.name, "op {0}: operand out of range", index);
  if (op.kind >= kOpKindCount || op.attributes.size() > kMaxAttributeWords) {
    check.Fail(op.name, "op {0}: kind or number of attributes out of range", index);
  }
  const size_t kernels = check.plan.kernel_count();
  if (op.kernel >= kernels || op.fallback_kernel < -1 ||
      op.fallback_kernel >= static_cast<int64_t>(kernels)) {
    check.Fail(op.name, "op {0}: no such kernel", index);
  } else if (op.fallback_kernel >= 0 &&
             !BelongsTo(check.plan.kernel(static_cast<size_t>(op.fallback_kernel)), kCpu)) {
    check.Fail(op.name, "op {0}: its fall-back kernel is not the CPU's", index);
  }
  if (op.fallback_workspace >= 0 && op.fallback_kernel < 0) {
    check.Fail(op.name, "op {0}: a fall-back workspace without a kernel", index);
  }
}

void CheckWritesNoConstant(const ProgramCheck& check) {
  const ProgramView& program = check.program;
  for (size_t i = 0; i < check.ops; ++i) {
    const OpInfo op = program.op(i);
    for (const int32_t output : op.outputs) {
      if (IsConstant(check, static_cast<uint32_t>(output))) {
        check.Fail(op.name, "op {0} writes a constant, tensor {1}", i,
                   static_cast<uint64_t>(output));
      }
    }
    for (const int32_t workspace : {op.workspace, op.fallback_workspace}) {
      if (workspace < 0) continue;
      const auto tensor = static_cast<uint32_t>(workspace);
      if (IsConstant(check, tensor) || program.tensor(tensor).dtype != DType::kU8) {
        check.Fail(op.name, "op {0}: its workspace is a constant, or not of bytes", i);
      }
    }
  }
  for (size_t i = 0; i < program.input_count(); ++i) {
    const PortInfo port = program.input(i);
    if (IsConstant(check, port.tensor)) check.Fail(port.name, "input is a constant");
  }
}

/// All ops of a segment have a fall-back kernel or none has, and the CPU needs none.
void CheckFallback(const ProgramCheck& check, const SegmentInfo& segment, size_t index) {
  for (const uint32_t op : segment.ops) {
    if (op >= check.ops || segment.ops[0] >= check.ops) return;
    const bool has_one = check.HasFallback(op);
    if (has_one != check.HasFallback(segment.ops[0]) || (has_one && check.IsOnCpu(segment))) {
      check.Fail(check.program.op(op).name,
                 "segment {0}: a fall-back kernel for some of its ops only, or for the CPU", index);
      return;
    }
  }
}

void CheckSegmentIndices(ProgramCheck& check) {
  const ProgramView& program = check.program;
  for (size_t i = 0; i < check.ops; ++i) check.segment[i] = UINT32_MAX;
  for (size_t i = 0; i < check.segments; ++i) {
    const SegmentInfo segment = program.segment(i);
    if (segment.stage >= program.stage_count() || segment.backend >= check.plan.backend_count()) {
      check.Fail(program.name(), "segment {0}: backend or stage out of range", i);
      continue;
    }
    CheckFallback(check, segment, i);
    for (const uint32_t op : segment.ops) {
      if (op >= check.ops || check.segment[op] != UINT32_MAX) {
        check.Fail(program.name(), "segment {0}: no op {1}, or it is in two segments", i, op);
        continue;
      }
      check.segment[op] = static_cast<uint32_t>(i);
      const OpInfo info = program.op(op);
      if (info.kernel < check.plan.kernel_count() &&
          !BelongsTo(check.plan.kernel(info.kernel), check.plan.backend(segment.backend))) {
        check.Fail(info.name, "op {0} has a kernel of another backend than its segment", op);
      }
    }
  }
  for (size_t i = 0; i < check.ops; ++i) {
    if (check.segment[i] == UINT32_MAX) {
      check.Fail(program.op(i).name, "op {0} is in no segment", i);
    }
  }
}

/// A port that stands for real numbers is of bytes and says in a sound way which.
void CheckPort(const ProgramCheck& check, const PortInfo& port, Message no_tensor) {
  if (port.tensor >= check.tensors) return check.Fail(port.name, no_tensor);
  const DType dtype = check.program.tensor(port.tensor).dtype;
  const int32_t least = dtype == DType::kI8 ? -128 : 0;
  const bool is_byte = dtype == DType::kI8 || dtype == DType::kU8;
  const bool has_scale = port.scale > 0.0F && port.scale <= std::numeric_limits<float>::max();
  if (port.scale == 0.0F && port.zero_point == 0) return;
  if (!is_byte || !has_scale || port.zero_point < least || port.zero_point > least + 255) {
    check.Fail(port.name, "port has a scale or zero point that it cannot have");
  }
}

void CheckOtherIndices(const ProgramCheck& check) {
  const ProgramView& program = check.program;
  if (program.mode() > static_cast<uint8_t>(ProgramMode::kFallback)) {
    check.Fail(program.name(), "unknown mode");
  }
  for (size_t i = 0; i < program.stage_count(); ++i) {
    if (program.stage_worker(i) >= check.workers) {
      check.Fail(program.name(), "stage {0} runs on no worker", i);
    }
  }
  for (size_t i = 0; i < program.input_count(); ++i) {
    CheckPort(check, program.input(i), "input is no tensor");
  }
  for (size_t i = 0; i < program.output_count(); ++i) {
    CheckPort(check, program.output(i), "output is no tensor");
  }
}

/// What segments exchange are tensors in arenas.
void CheckExchangeIndices(const ProgramCheck& check) {
  for (size_t i = 0; i < check.segments; ++i) {
    const SegmentInfo segment = check.program.segment(i);
    for (const Span<const uint32_t> list : {segment.reads, segment.writes}) {
      for (const uint32_t tensor : list) {
        if (tensor >= check.tensors || IsConstant(check, tensor)) {
          check.Fail(check.program.name(),
                     "segment {0}: exchanges tensor {1}, which is in no arena", i, tensor);
        }
      }
    }
  }
}

}  // namespace

bool ProgramCheck::IsOnCpu(const SegmentInfo& info) const {
  return std::strcmp(plan.backend(info.backend), kCpu) == 0;
}

bool CheckIndices(ProgramCheck& check) {
  const ProgramView& program = check.program;
  const size_t before = check.reporter.count();
  CheckStorageIndices(check);
  if (check.reporter.count() != before) return false;
  for (size_t i = 0; i < program.tensor_count(); ++i) CheckTensor(check, program.tensor(i), i);
  for (size_t i = 0; i < check.ops; ++i) CheckOp(check, program.op(i), i);
  CheckSegmentIndices(check);
  CheckOtherIndices(check);
  if (check.reporter.count() != before) return false;
  CheckWritesNoConstant(check);
  const size_t so_far = check.reporter.count();
  CheckExchangeIndices(check);
  return check.reporter.count() == so_far;
}

}  // namespace tenon::plan_check
