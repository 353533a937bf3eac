// What the parts of the plan check share that is about workers, segments and devices: absent from
// firmware, which checks one worker (plan_check_firmware.cpp). Internal to runtime/format.
#pragma once

#include "runtime/format/plan_check_state.hpp"
#include "runtime/format/region.hpp"

namespace tenon::plan_check {

/// Clocks count a worker's steps from 2, so that 0 is "before anything" and 1 "inputs are set".
inline constexpr uint32_t kInputsSet = 1;
inline constexpr uint32_t kFirstStep = 2;

inline constexpr uint32_t kNoSegment = UINT32_MAX;
inline constexpr uint32_t kNoGroup = UINT32_MAX;
/// No stage yet; of an arena.
inline constexpr uint8_t kNoStage = UINT8_MAX;
/// The backend whose kernels do their work on the calling thread.
inline constexpr char kCpu[] = "cpu";

/// Words of scratch that the search for cycles needs per segment.
inline constexpr size_t kCursorWords = 5;

/// One program under check. Arrays are scratch. Clocks have `workers` entries each, one per worker.
struct ProgramCheck : CheckedProgram {
  // NOLINTNEXTLINE(clang-analyzer-optin.cplusplus.UninitializedObject): the base is an aggregate
  ProgramCheck(const PlanView& view, const ProgramView& checked, Reporter& to)
      : CheckedProgram{view, checked, to} {}

  size_t workers = 0;
  size_t segments = 0;
  size_t arenas = 0;
  bool is_pipeline = false;
  uint8_t stage_of_worker[kMaxWorkers] = {};  ///< of a pipeline's; known once CheckStages passes

  // Accesses of storage s are [access_begin[s], access_begin[s + 1]): first those that write, then,
  // from reader_begin[s], those that read.
  uint32_t* access_begin = nullptr;  ///< per storage, and one more
  uint32_t* reader_begin = nullptr;  ///< per storage
  uint32_t* clock = nullptr;         ///< per op: how far each worker is, at least, when it starts
  uint32_t* position = nullptr;      ///< per op: place in one order that keeps all waits
  uint32_t* step = nullptr;          ///< per op: place among its worker's steps
  uint32_t* group = nullptr;         ///< per op: the group that it starts with, or kNoGroup
  uint32_t* done = nullptr;          ///< per op: value that its worker's clock has once it is done
  uint8_t* worker = nullptr;         ///< per op
  uint32_t* segment = nullptr;       ///< per op
  uint32_t* first_clock = nullptr;   ///< per storage: the earliest that anything writes it
  uint32_t* last_clock = nullptr;    ///< per storage: when everything that uses it is done
  uint64_t* keys = nullptr;          ///< 2 * storages, to sort
  uint32_t* rank = nullptr;          ///< per storage: place in the order of first writes
  uint32_t* by_rank = nullptr;       ///< storages + 1
  uint32_t* next = nullptr;          ///< storages + 1
  uint32_t* previous = nullptr;      ///< storages + 1
  uint32_t* rank_bits = nullptr;     ///< a RankSet of storages + 1
  uint32_t* cursor = nullptr;        ///< kCursorWords per segment
  uint32_t* writer_segment = nullptr;  ///< per storage: the only one that writes it, or kNoSegment
  uint32_t* read_by = nullptr;         ///< per storage: 1 + the last segment that read it
  uint8_t* uploaded = nullptr;         ///< per tensor: bit per worker whose device has it
  uint8_t* arena_stage = nullptr;      ///< per arena: the stage that uses it
  uint32_t* arena_channel = nullptr;   ///< per arena: 1 + the channel whose ring it is, or 0

  [[nodiscard]] uint32_t* ClockOf(uint32_t op) const { return clock + op * workers; }
  /// Returns the value that a clock has for op's worker once op is done.
  /// Ops that start together are done together.
  [[nodiscard]] uint32_t Done(uint32_t op) const { return done[op]; }
  /// True if `before` is done before `after` starts, in whatever way the workers run.
  [[nodiscard]] bool HappensBefore(uint32_t before, uint32_t after) const;
  /// Returns the op's place among its worker's steps.
  [[nodiscard]] size_t StepOf(uint32_t op) const { return step[op]; }
  [[nodiscard]] bool HasFallback(uint32_t op) const { return program.op(op).fallback_kernel >= 0; }
  [[nodiscard]] bool IsOnCpu(const SegmentInfo& info) const;
  [[nodiscard]] bool IsFallbackWorkspace(Access access) const {
    return OpOf(access) != kPortOp &&
           program.op(OpOf(access)).fallback_workspace == static_cast<int32_t>(TensorOf(access));
  }
};

/// The ops from the first to the last that need the bytes of an access to a storage of which
/// writer_segment is known. Whatever a segment with fall-back kernels has not made itself, and
/// their workspaces, it may need until its end.
struct Need {
  uint32_t first;
  uint32_t last;
};
[[nodiscard]] Need NeedOf(const ProgramCheck& check, uint32_t storage, Access access, bool writes);
/// Bytes that both regions have, or kUnknownOverlap: as OverlapBytes, but where the two fit no
/// common grid, they are looked at row by row, as far as the budget goes.
[[nodiscard]] PlanBytes CommonBytes(ProgramCheck& check, const Region& a, const Region& b);
/// True if two tensors of one storage may have bytes in common.
[[nodiscard]] bool SharesBytes(const ProgramCheck& check, uint32_t a, uint32_t b);

/// Checks indices and references of segments and stages. False if the other parts cannot trust
/// them.
bool CheckSegmentIndices(ProgramCheck& check);
/// Checks what groups list, and fills group. False if the other parts cannot trust it.
bool CheckGroupIndices(ProgramCheck& check);
/// Checks that the ops of a group are neighbours in one worker and in one segment, of which only
/// the first waits. False if the order of steps cannot be found from them. Needs step and worker.
bool CheckGroupSteps(ProgramCheck& check);
/// Checks steps, waits and deadlocks; fills clock, position and worker. False if there is no valid
/// order.
bool CheckOrder(ProgramCheck& check);
/// Checks the writers and readers of each storage; fills accesses, first_clock and last_clock.
void CheckStorages(ProgramCheck& check);
/// Checks that storages that share bytes of an arena take turns.
void CheckOccupancy(ProgramCheck& check);
/// Checks that segments are acyclic.
void CheckSegments(ProgramCheck& check);
/// Checks that segments of devices are whole and list what they exchange with others.
void CheckExchange(ProgramCheck& check);
/// Checks that code of segments reaches what its ops use and nothing else.
void CheckCode(ProgramCheck& check);
/// Checks that ops that say they work in place are of a kind, or have kernels, that can.
void CheckInPlace(ProgramCheck& check);
/// What names stages and channels is in range and as the mode wants it. False if the order of steps
/// cannot be found from it.
bool CheckStages(ProgramCheck& check);
/// Checks that stages share no bytes except in channels.
void CheckChannels(ProgramCheck& check);

/// What the ops that write one storage say of when they run, and who may read it then.
class WritersConditions {
 public:
  void Add(const ProgramCheck& check, Access writer);
  /// Reports a reader that could find what an earlier run has left.
  void CheckReader(const ProgramCheck& check, Access reader) const;

 private:
  [[nodiscard]] bool MayRead(const ProgramCheck& check, Access reader) const;

  OpCondition condition_;
  bool differ_ = false;  ///< two of the writers have two
};
/// Checks that conditions are one bool each, of ops of the CPU. Needs sound indices.
void CheckConditions(const ProgramCheck& check);

}  // namespace tenon::plan_check
