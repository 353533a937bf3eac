// Computes what happens when tasks are issued in a given order: units run theirs in that order, one
// at a time; the transfer engine fetches values into fast memory as early as there is space, and
// moves out what does not fit. This is the estimate that the search for an order works with.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/solve/time/fast_memory.hpp"
#include "converter/solve/time/time_problem.hpp"
#include "converter/solve/time/time_resources.hpp"

namespace tenon::converter {

enum class TimeEventKind : uint8_t { kTask, kFetch, kStore };

struct TimeEvent {
  TimeEventKind kind = TimeEventKind::kTask;
  Index index = 0;  ///< the task, or the value that is moved
  Picoseconds start = 0;
  Picoseconds end = 0;
  int32_t hold = -1;  ///< of a transfer: what it writes (fetch) or reads (store)
};

enum class HoldKind : uint8_t {
  kStorage,   ///< all of a fast storage
  kWritten,   ///< a value's copy that its task writes
  kFetched,   ///< a value's copy that the transfer engine writes
  kTransient  ///< a task's transient bytes
};

/// Describes bytes of fast memory that are taken for a time.
struct FastHold {
  HoldKind kind = HoldKind::kStorage;
  Index owner = 0;  ///< storage, value or task
  int64_t bytes = 0;
  Picoseconds start = 0;
  Picoseconds end = 0;
  int32_t taken_over = -1;  ///< the hold whose bytes this one was handed
  int64_t offset = 0;       ///< its address, if the problem is one with addresses
};

struct TimeSchedule {
  Picoseconds makespan = 0;
  int64_t peak_bytes = 0;         ///< of fast memory
  Picoseconds transfer_time = 0;  ///< the transfer engine's work
  std::vector<TimeEvent> events;  ///< in order of start
  std::vector<FastHold> holds;
  std::vector<std::vector<int32_t>> read_holds;   ///< by task, as its reads
  std::vector<std::vector<int32_t>> write_holds;  ///< by task, as its writes
};

struct TimeOutcome {
  bool fits = false;
  Picoseconds makespan = 0;
  int64_t peak_bytes = 0;
  Index stuck = 0;  ///< the task that did not fit into fast memory, if `fits` is false
};

/// Evaluates orders of one problem, which must outlive this object. Deterministic.
class TimeEvaluator {
 public:
  explicit TimeEvaluator(const TimeProblem& problem);

  /// `order` must contain every task once and respect the predecessors. Stops early, with a
  /// makespan above `limit`, once the limit cannot be met. Takes near linear time in tasks and
  /// operands.
  TimeOutcome Evaluate(const std::vector<Index>& order, Picoseconds limit = INT64_MAX);

  /// Evaluates an order and returns all events and holds. Empty if it does not fit.
  TimeSchedule Record(const std::vector<Index>& order);

 private:
  static constexpr Picoseconds kNever = INT64_MAX;
  static constexpr Index kNobody = UINT32_MAX;
  struct Hold {
    FastHold fast;
    Picoseconds available = 0;  ///< its bytes are free for it
    Picoseconds ready = 0;      ///< its content is there
    Picoseconds busy = 0;       ///< end of the last use so far
    Index pinned_by = kNobody;
    int32_t resident_at = -1;  ///< in residents_; -1 once given up
  };

  void Reset(const std::vector<Index>& order);
  bool Run(const std::vector<Index>& order, Picoseconds limit);
  bool Step(Index task, Picoseconds limit);
  void Pin(Index task);
  bool PrepareReads(const TimeTask& task, Picoseconds& ready);
  bool PrepareWrites(Index number, Picoseconds& ready);
  bool PrepareStorage(const TimeTask& task, Index storage, Picoseconds& ready);
  void Finish(const TimeTask& task, Picoseconds start, Picoseconds end);
  void Retire(const TimeTask& task);
  void RetireValue(Index value);
  void Note(Index number, Picoseconds start, Picoseconds end);

  int32_t NewHold(HoldKind kind, Index owner, int64_t bytes);
  int32_t AllocateAt(HoldKind kind, Index owner, int64_t bytes, Picoseconds& ready);
  void Forget(int32_t hold);
  void Release(int32_t hold);
  [[nodiscard]] int32_t HoldOf(Index value) const;
  int32_t Fetch(Index value, Picoseconds needed);
  void Store(Index value);
  Picoseconds TakeBytes(int32_t hold, Picoseconds at);
  [[nodiscard]] Picoseconds TimeForBytes(int64_t bytes) const;
  bool MakeRoom(int64_t bytes);
  void MakeRoomBy(Picoseconds by, int64_t bytes);
  [[nodiscard]] int64_t EvictionScore(const FastHold& hold) const;
  bool EvictOne();
  bool EvictRun(int64_t bytes, Picoseconds by = kNever);
  void EvictIdle(int64_t bytes, Picoseconds by);
  [[nodiscard]] bool IsIdle(const Hold& hold, Picoseconds by) const;
  void Evict(int32_t hold);
  bool MoveAllOut();
  void Simplify();
  [[nodiscard]] Index NextRead(Index value) const;
  [[nodiscard]] Index NextUse(const FastHold& hold) const;
  [[nodiscard]] bool NeedsStore(const FastHold& hold) const;
  [[nodiscard]] bool MayEvict(const Hold& hold) const;
  void BuildUses();
  int32_t TakeOver(const TimeTask& task, Index storage, Picoseconds& ready);
  [[nodiscard]] int64_t PeakOfHolds() const;

  const TimeProblem& problem_;
  std::vector<Picoseconds> tails_;
  std::vector<Index> reads_of_value_, touches_of_storage_, writes_of_storage_;
  std::vector<bool> composite_;  ///< by value: other values consist of it
  std::vector<std::vector<Index>> values_of_storage_;
  Picoseconds shortest_transfer_ = 0;

  // The following members are the state of one evaluation.
  const std::vector<Index>* order_ = nullptr;
  Index position_ = 0;
  FreeBytes free_;     ///< without addresses
  FastMemory memory_;  ///< with them
  TransferTimeline transfers_;
  std::vector<Picoseconds> unit_free_, task_end_;
  std::vector<Picoseconds> stored_at_;  ///< by value: from when on slow memory has it
  std::vector<int32_t> value_hold_, storage_hold_;
  std::vector<bool> slow_;  ///< by storage: now
  std::vector<Index> reads_left_, touches_left_, writes_left_;
  std::vector<Hold> holds_;
  std::vector<int32_t> residents_;               ///< holds that live
  std::vector<int32_t> fresh_;                   ///< made for the current task's writes
  std::vector<int32_t> transient_;               ///< of the current task
  std::vector<Index> use_ends_, use_positions_;  ///< by value: positions of the tasks that read it
  bool uses_built_ = false;
  Picoseconds makespan_ = 0;
  Picoseconds transfer_time_ = 0;
  TimeSchedule* record_ = nullptr;
};

}  // namespace tenon::converter
