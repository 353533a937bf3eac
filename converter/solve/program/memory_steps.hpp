// Describes a program that may run ops again and move storages between a fast and a slow memory,
// without ops and tensors (docs/methods.md, R3).
#pragma once

#include <cstdint>
#include <vector>

#include "converter/solve/order/memory_problem.hpp"

namespace tenon::converter {

/// An op. It runs from fast memory, for the first time in the problem's order.
struct RepeatableOp {
  int64_t time = 0;           ///< of one run, in any unit
  std::vector<Index> reads;   ///< storages, each once
  std::vector<Index> writes;  ///< storages, each once; none that it reads
  int64_t workspace = 0;      ///< bytes
  bool may_repeat = false;    ///< gives the same result again; writes one storage, as the only op
  std::vector<HandOver> hand_overs;
};

struct MovableStorage {
  int64_t bytes = 0;
  bool from_start = false;  ///< in fast memory before the first op
  bool to_end = false;      ///< must be in fast memory behind the last op
  bool may_move = false;    ///< between the memories
  int64_t out_time = 0;     ///< of moving it to slow memory, in the unit of RepeatableOp::time
  int64_t in_time = 0;
};

/// The ops are in the order in which they first run.
struct MemoryStepsProblem {
  std::vector<RepeatableOp> ops;
  std::vector<MovableStorage> storages;
  int64_t fast_bytes = 0;    ///< the limit
  int64_t slow_bytes = 0;    ///< 0: nothing is moved
  bool copy_engine = false;  ///< moves storages while ops run; else either one or the other
};

enum class StepKind : uint8_t {
  kRun,      ///< runs an op, for the first time or again
  kMoveOut,  ///< copies a storage to slow memory, where it stays until its last use
  kMoveIn,   ///< copies it back
};

struct MemoryStep {
  StepKind kind = StepKind::kRun;
  Index what = 0;  ///< the op, or the storage
  friend bool operator==(const MemoryStep&, const MemoryStep&) = default;
};

struct CostOfSteps {
  bool valid = false;  ///< every step finds what it reads, every op runs, in their order
  int64_t fast_peak = 0;
  int64_t slow_peak = 0;
  int64_t time = 0;
  std::vector<int64_t> live;  ///< bytes of fast memory, by step
};

/// Counts what steps need. A storage has bytes in fast memory from the step that makes it (a first
/// write, another run of its op, a move) to the last step that reads it before it is made again; in
/// slow memory from the first move out to the last move in. An op's hand-over counts where its
/// input is not read again. With a copy engine moves take time beside ops: the engine does them in
/// their order, a move in not before the op ahead of it in the list has ended, a move out as soon
/// as its storage is made; an op waits for what it reads, and for all moves out ahead of it,
/// because it may overwrite what they read.
[[nodiscard]] CostOfSteps CostOf(const MemoryStepsProblem& problem,
                                 const std::vector<MemoryStep>& steps);

/// Returns the steps of a program that runs every op once and moves nothing.
[[nodiscard]] std::vector<MemoryStep> EveryOpOnce(const MemoryStepsProblem& problem);

}  // namespace tenon::converter
