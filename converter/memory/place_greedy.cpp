#include "converter/memory/place_greedy.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "converter/memory/place_arithmetic.hpp"

namespace tenon::converter {
namespace {

bool TakesSpace(const Buffer& buffer) { return buffer.size > 0 && buffer.lower < buffer.upper; }

double Lifetime(const Buffer& buffer) {
  return static_cast<double>(buffer.upper) - static_cast<double>(buffer.lower);
}

/// For each buffer, the most bytes live at any moment of its life.
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

/// What each buffer is sorted by, largest first.
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

/// The placed buffers, lowest offset first.
struct Placed {
  int64_t offset;
  int64_t top;
  int64_t lower;
  int64_t upper;
};

int64_t FindOffset(const std::vector<Placed>& placed, const Buffer& buffer, GreedyFit fit) {
  int64_t best = -1;
  int64_t best_gap = std::numeric_limits<int64_t>::max();
  int64_t free_from = 0;
  for (const Placed& other : placed) {
    if (other.upper <= buffer.lower || buffer.upper <= other.lower) continue;
    const int64_t start = AlignUpSaturated(free_from, buffer.alignment);
    if (other.offset >= start && other.offset - start >= buffer.size) {
      if (fit == GreedyFit::kLowest) return start;
      if (other.offset - free_from < best_gap) {
        best = start;
        best_gap = other.offset - free_from;
      }
    }
    free_from = std::max(free_from, other.top);
  }
  return best >= 0 ? best : AlignUpSaturated(free_from, buffer.alignment);
}

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
  std::vector<Placed> placed;
  placed.reserve(sequence.size());
  for (const size_t i : sequence) {
    const Buffer& buffer = buffers[i];
    if (!buffer.offset) offsets[i] = FindOffset(placed, buffer, fit);
    const Placed entry{offsets[i], AddSaturated(offsets[i], buffer.size), buffer.lower,
                       buffer.upper};
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), entry,
                         [](const Placed& a, const Placed& b) { return a.offset < b.offset; }),
        entry);
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
