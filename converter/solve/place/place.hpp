// Arena placement: gives every buffer an offset so that buffers alive at the same time do not
// overlap, with as small a peak as can be found. Pure: knows nothing of graphs or files.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "converter/progress.hpp"

namespace tenon::converter {

/// Alive from step `lower` up to but not including `upper`. `size` in bytes, >= 0.
struct Buffer {
  int64_t lower = 0;
  int64_t upper = 0;
  int64_t size = 0;
  int64_t alignment = 1;  ///< of the offset; >= 1
  /// Fixed offset, if the caller has decided it.
  std::optional<int64_t> offset = {};
};

struct PlaceOptions {
  /// Stop searching as soon as the peak is at most this. None: search for the smallest.
  std::optional<int64_t> limit;
  /// Search effort in work units (sections of time examined, about a microsecond each), not
  /// seconds, so that results repeat.
  int64_t work_budget = 5'000'000;
  /// Wall-clock stop in seconds; makes the result depend on the machine. None: no clock.
  std::optional<double> time_limit_seconds;
  uint64_t seed = 1;
  ProgressFunction progress;  ///< may be empty; of the exact search
};

struct Placement {
  std::vector<int64_t> offsets;  ///< one per buffer
  int64_t peak = 0;              ///< largest offset + size
  int64_t lower_bound = 0;       ///< LowerBound()
  bool proven_optimal = false;   ///< no placement has a smaller peak
  int64_t work = 0;              ///< units spent, see PlaceOptions::work_budget
  bool stopped_by_clock = false;
};

/// Best of several greedy orders (best fit by size, lifetime, area, ...), then an exact search
/// while the peak exceeds the lower bound and budget is left. Deterministic unless a clock is set.
/// Never fails: a placement always exists without a limit; check `peak` against yours. Only fixed
/// offsets that collide, and sizes of which no placement ends below 2^63, yield offsets that
/// IsValidPlacement() refuses. Buffers without bytes or lifetime get offset 0.
[[nodiscard]] Placement PlaceBuffers(const std::vector<Buffer>& buffers,
                                     const PlaceOptions& options);

/// A peak that no placement can be below: the largest sum of live sizes over all steps, each but
/// one padded to the common divisor of the alignments live then; or the end of a fixed buffer.
[[nodiscard]] int64_t LowerBound(const std::vector<Buffer>& buffers);

/// True if no two buffers alive at the same time overlap and alignments and fixed offsets hold.
/// Shares no code with the placer.
[[nodiscard]] bool IsValidPlacement(const std::vector<Buffer>& buffers,
                                    const std::vector<int64_t>& offsets);

}  // namespace tenon::converter
