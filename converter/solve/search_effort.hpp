// What the searches for an order have cost, in work that is the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace tenon::converter {

struct SearchEffort {
  int64_t downsets = 0;  ///< expanded
  /// One for each downset, and one for so many nodes looked at: about 1.5 microseconds.
  int64_t work = 0;
};

/// Hears of the work spent so far, again and again.
using WorkReport = std::function<void(int64_t spent)>;

inline constexpr int64_t kVisitsPerWork = 128;

/// What one expansion costs that has looked at `visits` nodes and remembered `successors` downsets
/// of `words` words, for which memory is what there is least of.
[[nodiscard]] inline int64_t ExpansionWork(int64_t visits, size_t successors, size_t words) {
  return 1 + (visits + static_cast<int64_t>(successors * (2 * words + 16))) / kVisitsPerWork;
}

}  // namespace tenon::converter
