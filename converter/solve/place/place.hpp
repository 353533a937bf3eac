// Arena placement: gives every buffer an offset so that buffers alive at the same time do not
// overlap, and finds as small a peak as it can. This code depends on neither graphs nor files.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "converter/progress.hpp"

namespace tenon::converter {

/// No limit, or a number that does not matter.
constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();

/// A buffer is alive from step `lower` up to but not including `upper`. `size` is in bytes, >= 0.
struct Buffer {
  int64_t lower = 0;
  int64_t upper = 0;
  int64_t size = 0;
  int64_t alignment = 1;  ///< of the offset; >= 1
  /// Is the fixed offset, if the caller has decided it.
  std::optional<int64_t> offset = {};
};

struct PlaceOptions {
  /// The search stops as soon as the peak is at most this. If empty, the smallest is searched.
  std::optional<int64_t> limit;
  /// Peaks from here on are of no use: the search stops as soon as it has proved that there is no
  /// smaller one.
  std::optional<int64_t> only_below;
  /// Limits the search effort in work units (sections of time examined, about a microsecond each),
  /// not in seconds, so that results are repeatable.
  int64_t work_budget = 5'000'000;
  /// Stops the search after this many seconds of wall-clock time, so that the result depends on the
  /// machine. If empty, no clock is used.
  std::optional<double> time_limit_seconds;
  uint64_t seed = 1;
  ProgressFunction progress;  ///< may be empty; reports the exact search
};

struct Placement {
  std::vector<int64_t> offsets;  ///< one per buffer
  int64_t peak = 0;              ///< largest offset + size
  int64_t lower_bound = 0;       ///< LowerBound()
  bool proven_optimal = false;   ///< no placement has a smaller peak
  int64_t work = 0;              ///< units spent, see PlaceOptions::work_budget
  bool stopped_by_clock = false;
};

/// Takes the best of several greedy orders (best fit by size, lifetime, area, ...), then searches
/// exactly while the peak exceeds the lower bound and budget is left. Deterministic unless a clock
/// is set. Never fails, because a placement always exists without a limit: check `peak` against
/// yours. IsValidPlacement() refuses the offsets only if fixed offsets collide, or if no placement
/// of the sizes ends below 2^63. Buffers without bytes or lifetime get offset 0.
[[nodiscard]] Placement PlaceBuffers(const std::vector<Buffer>& buffers,
                                     const PlaceOptions& options);

/// Returns a peak that no placement can be below: the largest sum of live sizes over all steps,
/// where all sizes but one are padded to the common divisor of the alignments live then; or the end
/// of a fixed buffer.
[[nodiscard]] int64_t LowerBound(const std::vector<Buffer>& buffers);

/// Returns true if no two buffers alive at the same time overlap, and alignments and fixed offsets
/// are respected. Shares no code with the placer.
[[nodiscard]] bool IsValidPlacement(const std::vector<Buffer>& buffers,
                                    const std::vector<int64_t>& offsets);

}  // namespace tenon::converter
