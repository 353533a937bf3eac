#include "converter/solve/place/place_greedy.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "converter/solve/place/place_instance.hpp"

namespace tenon::converter {
namespace {

bool TakesSpace(const Buffer& buffer) { return buffer.size > 0 && buffer.lower < buffer.upper; }

double Lifetime(const Buffer& buffer) {
  return static_cast<double>(buffer.upper) - static_cast<double>(buffer.lower);
}

/// Returns for each buffer the most bytes live at any moment of its life.
std::vector<double> Pressure(const std::vector<Buffer>& buffers) {
  std::map<int64_t, double> live;  // from this step to the next key
  for (const Buffer& buffer : buffers) {
    if (!TakesSpace(buffer)) continue;
    live[buffer.lower] += static_cast<double>(buffer.size);
    live[buffer.upper] -= static_cast<double>(buffer.size);
  }
  double sum = 0;
  for (auto& [step, bytes] : live) bytes = sum += bytes;
  std::vector<double> pressure(buffers.size(), 0.0);
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (!TakesSpace(buffers[i])) continue;
    const auto end = live.find(buffers[i].upper);
    for (auto step = live.find(buffers[i].lower); step != end; ++step) {
      pressure[i] = std::max(pressure[i], step->second);
    }
  }
  return pressure;
}

/// Returns the values by which buffers are sorted, largest first.
std::vector<double> Keys(const std::vector<Buffer>& buffers, GreedyOrder order) {
  if (order == GreedyOrder::kPressure) return Pressure(buffers);
  std::vector<double> keys;
  keys.reserve(buffers.size());
  for (const Buffer& buffer : buffers) {
    const auto size = static_cast<double>(buffer.size);
    switch (order) {
      case GreedyOrder::kSize:
      case GreedyOrder::kPressure:
        keys.push_back(size);
        break;
      case GreedyOrder::kArea:
        keys.push_back(size * Lifetime(buffer));
        break;
      case GreedyOrder::kLifetime:
        keys.push_back(Lifetime(buffer));
        break;
      case GreedyOrder::kStart:
        keys.push_back(-static_cast<double>(buffer.lower));
        break;
      case GreedyOrder::kEnd:
        keys.push_back(static_cast<double>(buffer.upper));
        break;
    }
  }
  return keys;
}

/// Describes a placed buffer; lists of them have the lowest offset first.
struct Placed {
  int64_t offset;
  int64_t top;
  int64_t lower;
  int64_t upper;
};

/// Finds the offset of one more buffer among the placed ones, which are given lowest offset first.
class OffsetFinder {
 public:
  OffsetFinder(const Buffer& buffer, GreedyFit fit) : buffer_(buffer), fit_(fit) {}

  /// Returns true if the search is over.
  bool Pass(const Placed& other) {
    if (other.upper <= buffer_.lower || buffer_.upper <= other.lower) return false;
    const int64_t start = AlignUpSaturated(free_from_, buffer_.alignment);
    if (other.offset >= start && other.offset - start >= buffer_.size &&
        (best_ < 0 || other.offset - free_from_ < best_gap_)) {
      best_ = start;
      best_gap_ = other.offset - free_from_;
      if (fit_ == GreedyFit::kLowest) return true;
    }
    free_from_ = std::max(free_from_, other.top);
    return false;
  }
  [[nodiscard]] int64_t offset() const {
    return best_ >= 0 ? best_ : AlignUpSaturated(free_from_, buffer_.alignment);
  }

 private:
  const Buffer& buffer_;
  GreedyFit fit_;
  int64_t best_ = -1;
  int64_t best_gap_ = std::numeric_limits<int64_t>::max();
  int64_t free_from_ = 0;
};

using PlacedList = std::vector<Placed>;  ///< lowest offset first

void Insert(PlacedList& list, const Placed& entry) {
  list.insert(
      std::upper_bound(list.begin(), list.end(), entry,
                       [](const Placed& a, const Placed& b) { return a.offset < b.offset; }),
      entry);
}

/// Indexes the placed buffers by time, so that a short-lived one is compared only with buffers near
/// it in time. Time is cut into spans twice, the second time shifted by half a span: whatever is
/// shorter than half a span lies within one.
class PlacedIndex {
 public:
  explicit PlacedIndex(const std::vector<Buffer>& buffers) {
    int64_t end = INT64_MIN;
    begin_ = INT64_MAX;
    for (const Buffer& buffer : buffers) {
      if (!TakesSpace(buffer)) continue;
      begin_ = std::min(begin_, buffer.lower);
      end = std::max(end, buffer.upper);
    }
    // Times are steps and need few bits. Where they do not, one span is enough.
    const double steps = end > begin_ ? static_cast<double>(end) - static_cast<double>(begin_) : 0;
    const auto spans = static_cast<int64_t>(std::sqrt(static_cast<double>(buffers.size())));
    if (steps > 1e15 || spans < 2) return;
    half_ = (end - begin_) / (2 * spans) + 1;
    for (auto& lists : spans_) lists.resize(static_cast<size_t>((end - begin_) / (2 * half_) + 2));
  }

  void Add(const Placed& entry) {
    Insert(all_, entry);
    if (half_ == 0) return;
    if ((entry.upper - entry.lower) / (2 * half_) >= kMostSpans) {
      Insert(long_, entry);
      return;
    }
    for (size_t cut = 0; cut < 2; ++cut) {
      for (size_t i = SpanOf(cut, entry.lower); i <= SpanOf(cut, entry.upper - 1); ++i) {
        Insert(spans_[cut][i], entry);
      }
    }
  }

  [[nodiscard]] int64_t Find(const Buffer& buffer, GreedyFit fit) const {
    OffsetFinder finder(buffer, fit);
    for (size_t cut = 0; half_ > 0 && cut < 2; ++cut) {
      const size_t span = SpanOf(cut, buffer.lower);
      if (span != SpanOf(cut, buffer.upper - 1)) continue;
      PassBoth(spans_[cut][span], long_, finder);
      return finder.offset();
    }
    PassBoth(all_, {}, finder);
    return finder.offset();
  }

 private:
  static constexpr int64_t kMostSpans = 8;

  [[nodiscard]] size_t SpanOf(size_t cut, int64_t step) const {
    return static_cast<size_t>((step - begin_ + static_cast<int64_t>(cut) * half_) / (2 * half_));
  }

  /// Merges two lists.
  static void PassBoth(const PlacedList& a, const PlacedList& b, OffsetFinder& finder) {
    size_t i = 0;
    size_t k = 0;
    while (i < a.size() || k < b.size()) {
      const bool from_a = k == b.size() || (i < a.size() && a[i].offset <= b[k].offset);
      if (finder.Pass(from_a ? a[i++] : b[k++])) return;
    }
  }

  int64_t begin_ = 0;
  int64_t half_ = 0;  ///< half a span in steps; 0: no spans
  PlacedList all_;
  PlacedList long_;  ///< what would be in many spans
  std::array<std::vector<PlacedList>, 2> spans_;
};

}  // namespace

std::vector<int64_t> PlaceGreedily(const std::vector<Buffer>& buffers, GreedyOrder order,
                                   GreedyFit fit) {
  const std::vector<double> keys = Keys(buffers, order);
  std::vector<size_t> sequence;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (TakesSpace(buffers[i])) sequence.push_back(i);
  }
  std::stable_sort(sequence.begin(), sequence.end(), [&](size_t a, size_t b) {
    const bool a_fixed = buffers[a].offset.has_value();
    const bool b_fixed = buffers[b].offset.has_value();
    if (a_fixed != b_fixed) return a_fixed;
    if (keys[a] != keys[b]) return keys[a] > keys[b];
    return buffers[a].size > buffers[b].size;
  });

  std::vector<int64_t> offsets(buffers.size(), 0);
  for (size_t i = 0; i < buffers.size(); ++i) offsets[i] = buffers[i].offset.value_or(0);
  PlacedIndex placed(buffers);
  for (const size_t i : sequence) {
    const Buffer& buffer = buffers[i];
    if (!buffer.offset) offsets[i] = placed.Find(buffer, fit);
    placed.Add({offsets[i], AddSaturated(offsets[i], buffer.size), buffer.lower, buffer.upper});
  }
  return offsets;
}

int64_t Peak(const std::vector<Buffer>& buffers, const std::vector<int64_t>& offsets) {
  int64_t peak = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    peak = std::max(peak, AddSaturated(offsets[i], buffers[i].size));
  }
  return peak;
}

}  // namespace tenon::converter
