// Searches exactly for a placement within a limit.
//
// Buffers are stacked from address 0 upwards. Only placements in which every buffer rests on
// address 0, on another buffer, or at its fixed offset need to be examined, because in any other a
// buffer can be moved down. A state is the set of unplaced buffers with a least offset for each.
// Branching is binary: an unplaced buffer below which no other has to go either lies at its least
// offset, or rests upon another unplaced one, which raises its least offset. The search uses:
//
//   bounds: per section (set of buffers alive together), the stack above the least offsets fits;
//   inference: in a section with little slack, a buffer must rest at a height that the buffers
//     below it can fill, because it cannot lie above a gap;
//   splitting: parts of time without a common unplaced buffer are solved one by one, and the
//     failure of a part is never attributed to the choices in another;
//   nogoods: infeasible states are remembered across restarts, and cover all that are worse;
//   restarts: the order changes, and sections where the search failed before come first.
//
// Source of the canonical bottom-up search with section bounds: Moffitt, "MiniMalloc: A Lightweight
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

/// Selects which buffer is tried first where several are possible.
enum class SearchOrder { kWidth, kArea, kSize, kPressure };
constexpr int kSearchOrders = 4;

struct SearchStrategy {
  SearchOrder order = SearchOrder::kWidth;
  uint64_t seed = 0;   ///< of the perturbation
  double noise = 0.0;  ///< relative perturbation of the order's keys
  /// If true, the arena is filled from the bottom, which wastes little where there is slack; else
  /// the search begins where the fewest buffers can lie, which finds contradictions soon.
  bool lowest_first = false;
};

class PlacementSearch {
 public:
  /// Both must outlive the search; `progress` is told the work() done.
  PlacementSearch(const Instance& instance, Progress& progress);

  /// Sets the limit of the next runs, in bytes. What was learnt about larger limits is kept.
  void SetLimit(int64_t limit_bytes);

  /// Returns the smallest peak above the limit that a placement can have.
  [[nodiscard]] int64_t NextLimit() const { return state_.NextLimit(); }

  /// Searches once from the start, depth first with backtracking, within about `work_limit` work.
  [[nodiscard]] SearchOutcome Run(const SearchStrategy& strategy, int64_t work_limit,
                                  std::optional<std::chrono::steady_clock::time_point> deadline);

  /// Returns the offsets in bytes by InstanceBuffer, after kFound.
  [[nodiscard]] std::vector<int64_t> Offsets() const;

  /// Returns the sections that all runs have examined: about proportional to the time taken.
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

  // The following are indexed by buffer.
  std::vector<uint64_t> hash_;
  std::vector<double> rank_;  // lower is tried first
  // What has been found of a buffer holds until one of its sections changes.
  std::vector<double> score_;
  std::vector<char> is_scored_;

  // The following are indexed by section and filled by SurveySections().
  std::vector<int64_t> lowest_top_;  // of any unplaced buffer at its least offset
  std::vector<int> choices_;         // unplaced buffers that could be the lowest

  std::vector<Frame> frames_;
  std::vector<Range> parts_;
  std::vector<uint32_t> min_offsets_;  // of the state described last
};

}  // namespace tenon::converter
