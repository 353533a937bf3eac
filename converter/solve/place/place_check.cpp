// Checks placements. Shares no code with the placer, so that it does not repeat its errors.
#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "converter/solve/place/place.hpp"

namespace tenon::converter {
namespace {

/// Returns a + b for a, b >= 0, or the largest value if the sum does not fit in 64 bits.
int64_t Add(int64_t a, int64_t b) { return a > kLargest - b ? kLargest : a + b; }

/// Returns the smallest height of a stack of these buffers in any order: every offset is a multiple
/// of the alignments' common divisor, so all but the topmost are padded to it.
int64_t StackHeight(const std::vector<const Buffer*>& live) {
  int64_t divisor = 0;
  for (const Buffer* buffer : live) {
    // A fixed offset need not be a multiple of its neighbours' divisor.
    divisor = std::gcd(divisor, buffer->alignment);
    if (buffer->offset) divisor = std::gcd(divisor, *buffer->offset);
  }
  int64_t height = 0;
  int64_t largest_padding = 0;
  for (const Buffer* buffer : live) {
    const int64_t remainder = buffer->size % divisor;
    const int64_t padding = remainder == 0 ? 0 : divisor - remainder;
    height = Add(height, Add(buffer->size, padding));
    largest_padding = std::max(largest_padding, padding);
  }
  return height == kLargest ? kLargest : height - largest_padding;
}

/// Returns the divisor of every stack, if it is the same whatever is live.
std::optional<int64_t> CommonDivisor(const std::vector<Buffer>& buffers) {
  const int64_t divisor = buffers.empty() ? 1 : buffers[0].alignment;
  for (const Buffer& buffer : buffers) {
    if (buffer.alignment != divisor || buffer.offset.value_or(0) % divisor != 0) {
      return std::nullopt;
    }
  }
  return divisor;
}

using Starts = std::map<int64_t, std::vector<const Buffer*>>;  // by step

int64_t HighestStack(const Starts& starts) {
  int64_t highest = 0;
  std::vector<const Buffer*> live;
  for (const auto& [step, started] : starts) {
    std::erase_if(live, [now = step](const Buffer* buffer) { return buffer->upper <= now; });
    live.insert(live.end(), started.begin(), started.end());
    highest = std::max(highest, StackHeight(live));
  }
  return highest;
}

/// Returns the height of the highest stack where every stack has one divisor, in O(n log n): a sum
/// and its largest padding are updated with the live set.
int64_t HighestStack(const Starts& starts, int64_t divisor) {
  int64_t highest = 0;
  int64_t height = 0;
  std::multimap<int64_t, std::pair<int64_t, int64_t>> ends;  // step to size, padding
  std::multiset<int64_t> paddings;
  for (const auto& [step, started] : starts) {
    for (; !ends.empty() && ends.begin()->first <= step; ends.erase(ends.begin())) {
      const auto [size, padding] = ends.begin()->second;
      height -= size + padding;
      paddings.erase(paddings.find(padding));
    }
    for (const Buffer* buffer : started) {
      const int64_t padding = (divisor - buffer->size % divisor) % divisor;
      height += buffer->size + padding;
      paddings.insert(padding);
      ends.emplace(buffer->upper, std::pair(buffer->size, padding));
    }
    highest = std::max(highest, height - *paddings.rbegin());
  }
  return highest;
}

}  // namespace

int64_t LowerBound(const std::vector<Buffer>& buffers) {
  int64_t bound = 0;
  int64_t sum = 0;
  Starts starts;
  for (const Buffer& buffer : buffers) {
    bound = std::max(bound, Add(buffer.offset.value_or(0), buffer.size));
    if (buffer.lower >= buffer.upper || buffer.size <= 0) continue;
    starts[buffer.lower].push_back(&buffer);
    sum = Add(sum, Add(buffer.size, buffer.alignment));
  }
  // The live set grows only where a buffer starts, so the largest stack occurs at some start.
  const auto divisor = CommonDivisor(buffers);
  const bool simple = divisor.has_value() && sum < kLargest;
  return std::max(bound, simple ? HighestStack(starts, *divisor) : HighestStack(starts));
}

bool IsValidPlacement(const std::vector<Buffer>& buffers, const std::vector<int64_t>& offsets) {
  if (offsets.size() != buffers.size()) return false;
  std::vector<size_t> by_start;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& buffer = buffers[i];
    if (buffer.size < 0 || buffer.alignment < 1 || offsets[i] < 0) return false;
    if (offsets[i] > kLargest - buffer.size || offsets[i] % buffer.alignment != 0) return false;
    if (buffer.offset && *buffer.offset != offsets[i]) return false;
    if (buffer.lower < buffer.upper && buffer.size > 0) by_start.push_back(i);
  }
  std::stable_sort(by_start.begin(), by_start.end(),
                   [&](size_t a, size_t b) { return buffers[a].lower < buffers[b].lower; });
  // Sweeps over time with the address intervals in use, by their starts: a new buffer can only
  // collide with its neighbours, because the intervals in use are disjoint.
  std::map<int64_t, size_t> in_use;
  std::multimap<int64_t, int64_t> ends;  // step at which an offset becomes free
  for (const size_t i : by_start) {
    while (!ends.empty() && ends.begin()->first <= buffers[i].lower) {
      in_use.erase(ends.begin()->second);
      ends.erase(ends.begin());
    }
    const auto above = in_use.lower_bound(offsets[i]);
    if (above != in_use.end() && above->first < offsets[i] + buffers[i].size) return false;
    if (above != in_use.begin()) {
      const auto [offset, other] = *std::prev(above);
      if (offset + buffers[other].size > offsets[i]) return false;
    }
    in_use.emplace(offsets[i], i);
    ends.emplace(buffers[i].upper, offsets[i]);
  }
  return true;
}

}  // namespace tenon::converter
