// Measures what searches for an order cost, in work units that are the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace tenon::converter {

struct SearchEffort {
  int64_t downsets = 0;  ///< expanded
  /// Counts 1 per downset and 1 per kVisitsPerWork nodes examined, about 1.5 microseconds each.
  int64_t work = 0;
};

/// Is called repeatedly with the work spent so far.
using WorkReport = std::function<void(int64_t spent)>;

inline constexpr int64_t kVisitsPerWork = 128;

/// Returns the cost of one expansion that has examined `visits` nodes and remembered `successors`
/// downsets of `words` words; these count because memory is the scarcest resource.
[[nodiscard]] inline int64_t ExpansionWork(int64_t visits, size_t successors, size_t words) {
  return 1 + (visits + static_cast<int64_t>(successors * (2 * words + 16))) / kVisitsPerWork;
}

}  // namespace tenon::converter
