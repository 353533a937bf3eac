// Reads a plan file in place. Through this header the rest of the runtime sees the file;
// FlatBuffers stays inside runtime/format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "runtime/base/config.hpp"
#include "runtime/base/dtype.hpp"
#include "runtime/base/span.hpp"
#include "runtime/base/status.hpp"

namespace tenon {

inline constexpr uint16_t kPlanVersionMajor = 0;
inline constexpr uint16_t kPlanVersionMinor = 7;
inline constexpr size_t kMaxWorkers = 8;
/// No op's attributes have more 4-byte words than this.
inline constexpr size_t kMaxAttributeWords = 64;
/// The start of a plan in memory must be aligned to this (flash, mmap and malloc all are).
inline constexpr size_t kPlanAlignment = 16;

/// Sizes and places in arenas and in the file. Firmware's fit 32 bits: what does not is read as the
/// largest number, which no check lets pass.
using PlanBytes = std::conditional_t<kHasDevices, uint64_t, uint32_t>;

enum class StorageHome : uint8_t { kArena = 0, kSection = 1, kDevice = 2 };
enum class ArenaUse : uint8_t { kPlanned = 0, kInput = 1, kRows = 2 };
enum class ProgramMode : uint8_t { kSequential = 0, kPipeline = 1, kReplicas = 2, kFallback = 3 };

/// What the file says of its FlatBuffer: its bytes, and their sum with itself taken as 0.
struct HeaderInfo {
  uint32_t bytes;
  uint32_t crc32c;
  size_t crc_position;  ///< from the start of the file
};

struct SectionInfo {
  const char* name;
  uint16_t space;
  PlanBytes file_offset;
  PlanBytes bytes;
  uint32_t alignment;
  uint32_t crc32c;
};

struct ArenaInfo {
  uint16_t space;
  PlanBytes bytes;
  uint32_t alignment;
  PlanBytes lower_bound;  ///< 0 in firmware
  uint16_t slots;         ///< of a ring; `bytes` is one slot
};

/// Bytes from one slot of a ring to the next. Only for arenas that the plan check has passed.
[[nodiscard]] constexpr PlanBytes SlotStride(const ArenaInfo& arena) {
  return (arena.bytes + arena.alignment - 1) / arena.alignment * arena.alignment;
}
/// What a session needs for the arena, all its slots.
[[nodiscard]] constexpr PlanBytes ArenaBytes(const ArenaInfo& arena) {
  return arena.slots == 1 ? arena.bytes : arena.slots * SlotStride(arena);
}

struct StorageInfo {
  StorageHome home;
  uint16_t index;
  PlanBytes offset;
  PlanBytes bytes;
};

struct TensorInfo {
  const char* name;  ///< never null, may be empty
  DType dtype;       ///< unchecked until the plan check has passed
  uint8_t layout;
  uint32_t storage;
  PlanBytes offset;
  Span<const int32_t> dims;
  Span<const int32_t> strides;
};

/// What an op's kernel is called with: all that a run looks up.
struct OpOperands {
  Span<const int32_t> inputs;
  Span<const int32_t> outputs;
  Span<const int32_t> attributes;
  int32_t workspace;
};

/// An op runs where the one bool of `tensor` is `runs_if`; without a tensor (-1), in every run.
struct OpCondition {
  int32_t tensor = -1;
  bool runs_if = false;

  [[nodiscard]] bool IsGiven() const { return tensor >= 0; }
  /// `value`: the tensor's byte.
  [[nodiscard]] bool IsMet(const void* value) const {
    return (*static_cast<const uint8_t*>(value) != 0) == runs_if;
  }
  friend bool operator==(const OpCondition& a, const OpCondition& b) {
    return a.tensor == b.tensor && a.runs_if == b.runs_if;
  }
};

struct OpInfo : OpOperands {
  const char* name;  ///< never null, may be empty
  uint16_t kind;
  uint16_t kernel;
  int32_t in_place;
  int32_t fallback_kernel;  ///< -1: none; always in firmware
  int32_t fallback_workspace;
};

struct WaitInfo {
  uint16_t worker;
  uint32_t step;
};

struct StepInfo {
  uint32_t op;
  uint32_t wait_count;
};

struct SegmentInfo {
  uint16_t backend;
  Span<const uint32_t> ops;
  uint16_t stage;
  Span<const uint32_t> reads;
  Span<const uint32_t> writes;
};

/// Where a segment's code finds memory: what a base register is set to, and how far from there the
/// code reaches.
struct RelocationInfo {
  StorageHome home;
  uint16_t index;
  PlanBytes offset;
  PlanBytes bytes;
  uint8_t base_register;
  bool writes;
};

/// The most base registers that code may have, and relocations.
inline constexpr size_t kMaxBaseRegisters = 16;
inline constexpr size_t kMaxCodeWindows = 64;
/// The address of code is a multiple of this.
inline constexpr uint32_t kSegmentCodeAlignment = 64;

/// What an accelerator runs a whole segment by.
struct SegmentCodeInfo {
  uint16_t section;
  PlanBytes offset;
  PlanBytes bytes;
  const char* accelerator;
  uint32_t version;
  Span<const uint32_t> parameters;
  Span<const uint32_t> image;  ///< uuid, 4 words; empty: any
  size_t relocation_count;
};

struct ChannelInfo {
  uint16_t from;
  uint16_t to;
  Span<const uint32_t> tensors;
  uint16_t depth;
  uint16_t arena;
};

/// The most ops that start together.
inline constexpr size_t kMaxGroupOps = 32;

/// Ops that start together.
struct GroupInfo {
  Span<const uint32_t> ops;
  const char* source;  ///< of a generated kernel; never null, empty: none
  uint32_t source_crc32c;
  Span<const uint32_t> arguments;  ///< by launch: parameters of its part of the kernel
};

struct PortInfo {
  const char* name;
  uint32_t tensor;
  float scale;  ///< 0: its integers stand for themselves
  int32_t zero_point;
};

/// False with TENON_WITHOUT_STATE: plans that keep state from run to run are then refused, and the
/// code for it is left out.
#ifdef TENON_WITHOUT_STATE
inline constexpr bool kHasState = false;
#else
inline constexpr bool kHasState = true;
#endif

/// False with TENON_WITHOUT_INPUT_ROWS: then nobody hands in an input by rows, and arenas that hold
/// an input are as any other: the caller must know itself that a plan only reads there.
#ifdef TENON_WITHOUT_INPUT_ROWS
inline constexpr bool kHasInputRows = false;
#else
inline constexpr bool kHasInputRows = true;
#endif

/// What a program keeps from run to run: tensors, and the storage of its first value or -1.
struct StateInfo {
  uint32_t read;
  uint32_t write;
  int32_t initial;
};

/// One program of an opened plan. Borrowed from it; indices must be below the counts. Accessors are
/// pure: the plan does not change, and what only an error would say is not looked up without words.
class ProgramView {
 public:
  ProgramView() = default;
  explicit ProgramView(const void* table) : table_(table) {}

  [[nodiscard, gnu::pure]] const char* name() const;
  [[nodiscard, gnu::pure]] uint8_t mode() const;
  [[nodiscard, gnu::pure]] size_t arena_count() const;
  [[nodiscard, gnu::pure]] ArenaInfo arena(size_t index) const;
  [[nodiscard, gnu::pure]] ArenaUse arena_use(size_t index) const;
  [[nodiscard, gnu::pure]] size_t storage_count() const;
  [[nodiscard, gnu::pure]] StorageInfo storage(size_t index) const;
  [[nodiscard, gnu::pure]] size_t tensor_count() const;
  [[nodiscard, gnu::pure]] TensorInfo tensor(size_t index) const;
  [[nodiscard, gnu::pure]] uint32_t tensor_storage(size_t index) const;  ///< TensorInfo::storage
  [[nodiscard, gnu::pure]] size_t op_count() const;
  [[nodiscard, gnu::pure]] OpInfo op(size_t index) const;
  [[nodiscard, gnu::pure]] OpOperands op_operands(size_t index) const;
  [[nodiscard, gnu::pure]] OpCondition op_condition(size_t index) const;
  [[nodiscard, gnu::pure]] size_t worker_count() const;
  [[nodiscard, gnu::pure]] const char* worker_name(
      size_t worker) const;  ///< never null, may be empty
  [[nodiscard, gnu::pure]] size_t step_count(size_t worker) const;
  [[nodiscard, gnu::pure]] StepInfo step(size_t worker, size_t index) const;
  [[nodiscard, gnu::pure]] uint32_t step_op(size_t worker, size_t index) const;  ///< StepInfo::op
  [[nodiscard, gnu::pure]] WaitInfo wait(size_t worker, size_t step, size_t index) const;
  [[nodiscard, gnu::pure]] size_t segment_count() const;
  [[nodiscard, gnu::pure]] SegmentInfo segment(size_t index) const;
  /// 0 or 1, in a plan that the check has passed; the code of index 0.
  [[nodiscard, gnu::pure]] size_t segment_code_count(size_t segment) const;
  [[nodiscard, gnu::pure]] SegmentCodeInfo segment_code(size_t segment) const;
  [[nodiscard, gnu::pure]] RelocationInfo segment_relocation(size_t segment, size_t index) const;
  [[nodiscard, gnu::pure]] size_t group_count() const;
  [[nodiscard, gnu::pure]] GroupInfo group(size_t index) const;
  [[nodiscard, gnu::pure]] size_t channel_count() const;
  [[nodiscard, gnu::pure]] ChannelInfo channel(size_t index) const;
  [[nodiscard, gnu::pure]] size_t stage_count() const;
  [[nodiscard, gnu::pure]] uint16_t stage_worker(size_t index) const;
  [[nodiscard, gnu::pure]] size_t input_count() const;
  [[nodiscard, gnu::pure]] PortInfo input(size_t index) const;
  [[nodiscard, gnu::pure]] size_t output_count() const;
  [[nodiscard, gnu::pure]] PortInfo output(size_t index) const;
  [[nodiscard, gnu::pure]] size_t state_count() const;
  [[nodiscard, gnu::pure]] StateInfo state(size_t index) const;

 private:
  friend struct RunReader;
  const void* table_ = nullptr;
};

/// An opened plan file: structure, version and check sums have been verified, so accessors stay
/// inside the file. What the values mean is checked by CheckPlan (plan_check.hpp).
class PlanView {
 public:
  PlanView() = default;

  /// `file` is borrowed, aligned to kPlanAlignment, and must stay unchanged while this lives.
  /// Verifies identifier, FlatBuffer structure (bounded depth and table count), version, header
  /// check sum, every section's bounds and, unless `skip_section_crc`, its check sum; and that
  /// every required vector element is there. O(file size), no heap.
  /// Errors: kCorruptPlan, kUnsupportedVersion, kInvalidArgument (misaligned or null).
  [[nodiscard]] static Result<PlanView> Open(Span<const uint8_t> file,
                                             bool skip_section_crc = false);

  [[nodiscard]] Span<const uint8_t> file() const { return file_; }
  [[nodiscard, gnu::pure]] HeaderInfo header() const;
  [[nodiscard, gnu::pure]] uint16_t version_major() const;
  [[nodiscard, gnu::pure]] uint16_t version_minor() const;
  [[nodiscard, gnu::pure]] const char* producer() const;
  [[nodiscard, gnu::pure]] const char* board() const;
  [[nodiscard, gnu::pure]] uint64_t board_fingerprint() const;
  [[nodiscard, gnu::pure]] size_t option_count() const;
  [[nodiscard, gnu::pure]] const char* option_name(size_t index) const;
  [[nodiscard, gnu::pure]] const char* option_value(size_t index) const;
  [[nodiscard, gnu::pure]] size_t space_count() const;
  [[nodiscard, gnu::pure]] const char* space_name(size_t index) const;
  [[nodiscard, gnu::pure]] size_t section_count() const;
  [[nodiscard, gnu::pure]] SectionInfo section(size_t index) const;
  [[nodiscard, gnu::pure]] const uint8_t* section_data(size_t index) const;
  [[nodiscard, gnu::pure]] size_t backend_count() const;
  [[nodiscard, gnu::pure]] const char* backend(size_t index) const;
  [[nodiscard, gnu::pure]] size_t kernel_count() const;
  [[nodiscard, gnu::pure]] const char* kernel(size_t index) const;
  [[nodiscard, gnu::pure]] size_t program_count() const;
  [[nodiscard, gnu::pure]] ProgramView program(size_t index) const;

 private:
  Span<const uint8_t> file_;
};

}  // namespace tenon
