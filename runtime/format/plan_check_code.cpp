// Plan check, part 7: code of segments lies in its section, and reaches what its ops use and
// nothing else.
#include "runtime/format/plan_check_workers.hpp"

namespace tenon::plan_check {
namespace {

/// The code of one segment.
struct Code {
  uint32_t index;  ///< of the segment
  SegmentInfo segment;
  SegmentCodeInfo info;
};

bool IsInside(PlanBytes offset, PlanBytes bytes, PlanBytes whole) {
  return offset <= whole && bytes <= whole - offset;
}

/// The code's own bytes, and what it says of the accelerator.
void CheckPlace(const ProgramCheck& check, const Code& code) {
  const char* program = check.program.name();
  if (check.IsOnCpu(code.segment)) {
    check.Fail(program, "segment {0} has code, but runs on the CPU", code.index);
  }
  if (code.info.section >= check.plan.section_count()) {
    check.Fail(program, "segment {0}: its code is in section {1}, which there is not", code.index,
               code.info.section);
    return;
  }
  const SectionInfo section = check.plan.section(code.info.section);
  if (code.info.bytes == 0 || !IsInside(code.info.offset, code.info.bytes, section.bytes)) {
    check.Fail(section.name, "segment {0}: its code is empty or reaches over its section",
               code.index);
  }
  if (section.alignment < kSegmentCodeAlignment || code.info.offset % kSegmentCodeAlignment != 0) {
    check.Fail(section.name, "segment {0}: its code is not aligned to {1}", code.index,
               kSegmentCodeAlignment);
  }
  if (!code.info.image.empty() && code.info.image.size() != 4) {
    check.Fail(program, "segment {0}: an image's uuid has 4 words, not {1}", code.index,
               code.info.image.size());
  }
}

/// True if `storage` of the program is the window of the relocation.
bool IsWindow(const RelocationInfo& window, const StorageInfo& storage) {
  return storage.home == window.home && storage.index == window.index &&
         storage.offset == window.offset && storage.bytes == window.bytes;
}

/// Calls `visit(tensor, writes)` for what an op uses in arenas; stops where that is false.
template <typename Visit>
bool ForEachOperand(const ProgramCheck& check, const OpInfo& op, const Visit& visit) {
  const auto is_in_arena = [&](int32_t tensor) {
    return tensor >= 0 &&
           check.StorageOf(static_cast<uint32_t>(tensor)).home == StorageHome::kArena;
  };
  for (const int32_t tensor : op.inputs) {
    if (is_in_arena(tensor) && !visit(static_cast<uint32_t>(tensor), false)) return false;
  }
  for (const int32_t tensor : op.outputs) {
    if (is_in_arena(tensor) && !visit(static_cast<uint32_t>(tensor), true)) return false;
  }
  return op.workspace < 0 || visit(static_cast<uint32_t>(op.workspace), true);
}

/// True if an op of the segment uses the very storage that the window shows, as it says.
bool IsUsed(ProgramCheck& check, const Code& code, const RelocationInfo& window) {
  for (const uint32_t op : code.segment.ops) {
    const bool none =
        ForEachOperand(check, check.program.op(op), [&](uint32_t tensor, bool writes) {
          return check.Spend() &&
                 !(IsWindow(window, check.StorageOf(tensor)) && (writes || !window.writes));
        });
    if (!none) return !check.reporter.stopped();
  }
  return false;
}

void CheckWindow(ProgramCheck& check, const Code& code, const RelocationInfo& window) {
  const char* program = check.program.name();
  if (window.home == StorageHome::kSection) {
    if (window.index >= check.plan.section_count() || window.writes ||
        !IsInside(window.offset, window.bytes, check.plan.section(window.index).bytes)) {
      check.Fail(program,
                 "segment {0}: base register {1} leads out of its section, or writes there",
                 code.index, window.base_register);
    }
    return;
  }
  if (window.home != StorageHome::kArena || window.index >= check.arenas ||
      !IsInside(window.offset, window.bytes, check.program.arena(window.index).bytes)) {
    check.Fail(program, "segment {0}: base register {1} leads out of its arena", code.index,
               window.base_register);
  } else if (!IsUsed(check, code, window)) {
    check.Fail(program,
               "segment {0}: base register {1} leads to bytes that none of its ops uses so",
               code.index, window.base_register);
  }
}

/// The relocation that sets the base register of relocation `i`: the first that names it.
RelocationInfo SetterOf(const ProgramCheck& check, const Code& code, size_t i) {
  const RelocationInfo window = check.program.segment_relocation(code.index, i);
  for (size_t first = 0; first < i; ++first) {
    const RelocationInfo setter = check.program.segment_relocation(code.index, first);
    if (setter.base_register == window.base_register) return setter;
  }
  return window;
}

void CheckWindows(ProgramCheck& check, const Code& code) {
  if (code.info.relocation_count > kMaxCodeWindows) {
    check.Fail(check.program.name(),
               "segment {0}: its code has {1} relocations, which are too many", code.index,
               code.info.relocation_count);
    return;
  }
  for (size_t i = 0; i < code.info.relocation_count; ++i) {
    const RelocationInfo window = check.program.segment_relocation(code.index, i);
    const RelocationInfo setter = SetterOf(check, code, i);
    if (window.base_register >= kMaxBaseRegisters || window.home != setter.home ||
        window.index != setter.index || window.offset < setter.offset) {
      check.Fail(check.program.name(),
                 "segment {0}: no base register {1}, or it leads to several places", code.index,
                 window.base_register);
      return;
    }
    CheckWindow(check, code, window);
  }
}

/// True if something other than the segment's ops writes (reads, if the segment writes) bytes of
/// the tensor's storage.
bool IsShared(ProgramCheck& check, const Code& code, uint32_t tensor, bool writes) {
  const uint32_t storage = check.program.tensor(tensor).storage;
  const uint32_t middle = check.reader_begin[storage];
  const uint32_t begin = writes ? middle : check.access_begin[storage];
  const uint32_t end = writes ? check.access_begin[storage + 1] : middle;
  for (uint32_t i = begin; i < end; ++i) {
    const uint32_t op = OpOf(check.accesses[i]);
    if (op == kPortOp || check.segment[op] != code.index) return true;
    if (!check.Spend()) return false;
  }
  return false;
}

bool IsShown(ProgramCheck& check, const Code& code, uint32_t tensor, bool writes) {
  const StorageInfo storage = check.StorageOf(tensor);
  for (size_t i = 0; i < code.info.relocation_count && check.Spend(); ++i) {
    const RelocationInfo window = check.program.segment_relocation(code.index, i);
    if (IsWindow(window, storage) && (window.writes || !writes)) return true;
  }
  return false;
}

/// What crosses the segment's edge lies in a window.
void CheckOperands(ProgramCheck& check, const Code& code) {
  for (const uint32_t op : code.segment.ops) {
    const OpInfo info = check.program.op(op);
    (void)ForEachOperand(check, info, [&](uint32_t tensor, bool writes) {
      if (static_cast<int32_t>(tensor) != info.workspace && IsShared(check, code, tensor, writes) &&
          !IsShown(check, code, tensor, writes)) {
        check.Fail(check.program.tensor(tensor).name,
                   "segment {0}: no base register of its code leads to tensor {1}", code.index,
                   tensor);
      }
      return !check.reporter.stopped();
    });
  }
}

/// What is inside a device is there for the ops of one segment, which the device alone can run.
void CheckInside(ProgramCheck& check) {
  for (uint32_t i = 0; i < check.ops && !check.reporter.stopped(); ++i) {
    const OpInfo op = check.program.op(i);
    const auto check_operand = [&](int32_t tensor) {
      if (tensor < 0) return;
      const StorageInfo storage = check.StorageOf(static_cast<uint32_t>(tensor));
      if (storage.home != StorageHome::kDevice ||
          (storage.index == check.segment[i] && op.fallback_kernel < 0)) {
        return;
      }
      check.Fail(op.name, "op {0}: tensor {1} is inside a device that runs another segment", i,
                 static_cast<size_t>(tensor));
    };
    for (const int32_t tensor : op.inputs) check_operand(tensor);
    for (const int32_t tensor : op.outputs) check_operand(tensor);
  }
}

}  // namespace

void CheckCode(ProgramCheck& check) {
  CheckInside(check);
  for (uint32_t i = 0; i < check.segments && !check.reporter.stopped(); ++i) {
    const size_t count = check.program.segment_code_count(i);
    if (count == 0) continue;
    if (count > 1) {
      check.Fail(check.program.name(), "segment {0} has code {1} times", i, count);
      continue;
    }
    const Code code{i, check.program.segment(i), check.program.segment_code(i)};
    CheckPlace(check, code);
    CheckWindows(check, code);
    CheckOperands(check, code);
  }
}

}  // namespace tenon::plan_check
