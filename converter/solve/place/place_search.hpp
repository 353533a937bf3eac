// Exact search for a placement within a limit.
//
// Buffers are stacked from address 0 upwards: only placements in which every buffer rests on
// address 0, on another buffer, or at its fixed offset need be looked at, because any other can be
// pushed down. A state is the set of unplaced buffers with a least offset for each. Branching is
// binary: an unplaced buffer that has nothing left to go below it either lies at its least offset,
// or rests upon another unplaced one, which raises its least offset.
//
//   bounds      per section (set of buffers alive together), the stack above the least offsets
//   inference   where a section has little slack, a buffer cannot hang above a gap: it must rest
//               at a height that the buffers below it can fill
//   splitting   parts of time without a common unplaced buffer are solved one by one, and a failing
//               part is never blamed on another's choices
//   nogoods     hopeless states are remembered, across restarts, and cover all worse ones
//   restarts    with other orders; sections where the search failed before come first
//
// The idea of canonical bottom-up search with section bounds: Moffitt, "MiniMalloc: A Lightweight
// Memory Allocator for Hardware-Accelerated Machine Learning", ASPLOS 2024.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "converter/progress.hpp"
#include "converter/solve/place/place_instance.hpp"
#include "converter/solve/place/place_nogoods.hpp"
#include "converter/solve/place/place_state.hpp"

namespace tenon::converter {

enum class SearchOutcome {
  kFound,
  kInfeasible,  ///< proved: no placement within the limit
  kOutOfWork,
  kOutOfTime
};

/// Which buffer is tried first where several can lie.
enum class SearchOrder { kWidth, kArea, kSize, kPressure };
constexpr int kSearchOrders = 4;

struct SearchStrategy {
  SearchOrder order = SearchOrder::kWidth;
  uint64_t seed = 0;   ///< of the perturbation
  double noise = 0.0;  ///< relative perturbation of the order's keys
  /// Fill the arena from the bottom, which wastes little where there is slack; else begin where the
  /// fewest buffers can lie, which finds contradictions soon.
  bool lowest_first = false;
};

class PlacementSearch {
 public:
  /// Both must outlive the search; `progress` hears of the work() done.
  PlacementSearch(const Instance& instance, Progress& progress);

  /// The limit of the next runs, in bytes. What was learnt about larger limits is kept.
  void SetLimit(int64_t limit_bytes);

  /// The smallest peak above the limit that a placement can have.
  [[nodiscard]] int64_t NextLimit() const { return state_.NextLimit(); }

  /// One dive-and-backtrack search from the start, of about `work_limit` units of work.
  [[nodiscard]] SearchOutcome Run(const SearchStrategy& strategy, int64_t work_limit,
                                  std::optional<std::chrono::steady_clock::time_point> deadline);

  /// Offsets in bytes by InstanceBuffer, after kFound.
  [[nodiscard]] std::vector<int64_t> Offsets() const;

  /// Sections examined by all runs: about proportional to the time taken.
  [[nodiscard]] int64_t work() const { return state_.work() + branches_; }

 private:
  struct Range {  // of sections, inclusive
    int first;
    int last;
  };
  struct Frame {
    Range range;
    int buffer;         // branched on; -1: a list of parts that must all be solved
    bool at_offset;     // the first branch is being explored, else the second
    bool remember;      // a nogood, if both fail
    size_t checkpoint;  // on entry
    size_t begin_part;  // in parts_, of a list
    size_t next_part;
    size_t end_part;
  };
  [[nodiscard]] const InstanceBuffer& BufferAt(int b) const {
    return instance_.buffers[static_cast<size_t>(b)];
  }
  void ComputeRanks(const SearchStrategy& strategy);
  [[nodiscard]] bool IsGrounded(int buffer) const;
  void SurveySections(Range range);
  [[nodiscard]] double Score(int buffer) const;
  [[nodiscard]] Range Window(Range range) const;
  [[nodiscard]] int SelectBuffer(Range range);
  [[nodiscard]] int SelectBufferWithin(Range range);
  void PushParts(Range range);
  [[nodiscard]] int CountUnplaced(Range range) const;
  bool Enter(Range range, bool remember);
  bool Retreat();
  uint64_t DescribeState(Range range);

  const Instance& instance_;
  Progress& progress_;
  PlacementState state_;
  NogoodCache nogoods_;
  int64_t limit_bytes_ = -1;
  int64_t branches_ = 0;  // weighted by the sections surveyed
  bool lowest_first_ = false;

  // By buffer.
  std::vector<uint64_t> hash_;
  std::vector<double> rank_;  // lower is tried first

  // By section, as surveyed.
  std::vector<int64_t> lowest_top_;  // of any unplaced buffer at its least offset
  std::vector<int> choices_;         // unplaced buffers that could be the lowest

  std::vector<Frame> frames_;
  std::vector<Range> parts_;
  std::vector<uint32_t> min_offsets_;  // of the state described last
};

}  // namespace tenon::converter
