#include "converter/solve/place/place_instance.hpp"

#include <algorithm>
#include <numeric>

namespace tenon::converter {
namespace {

// Offsets, and differences of sums of them, stay far below 2^63.
constexpr int64_t kLargestSum = int64_t{1} << 60;
// The search stores every pair of a buffer and a section: beyond this many, only greedy runs.
constexpr int64_t kMostIncidences = 20'000'000;

struct Event {
  int64_t step;
  bool start;  // ends come before starts: the upper step is exclusive
  size_t buffer;
};

/// Numbers the maximal live sets in time order and gives every buffer its range of them.
int AssignSections(const std::vector<Buffer>& source, std::vector<InstanceBuffer>& buffers) {
  std::vector<Event> events;
  events.reserve(buffers.size() * 2);
  for (size_t i = 0; i < buffers.size(); ++i) {
    events.push_back({source[buffers[i].source].lower, true, i});
    events.push_back({source[buffers[i].source].upper, false, i});
  }
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    if (a.step != b.step) return a.step < b.step;
    if (a.start != b.start) return b.start;
    return a.buffer < b.buffer;
  });
  int sections = 0;
  bool grown = false;  // since the last section was closed
  for (const Event& event : events) {
    if (event.start) {
      buffers[event.buffer].first_section = sections;
      grown = true;
    } else {
      if (grown) ++sections;
      grown = false;
      buffers[event.buffer].last_section = sections - 1;
    }
  }
  return sections;
}

/// Returns the largest unit of which all reachable offsets are multiples: offsets are sums of
/// sizes, upon address 0 or a fixed offset, rounded up to alignments.
int64_t FindUnit(const std::vector<InstanceBuffer>& buffers) {
  int64_t unit = 0;
  for (const InstanceBuffer& buffer : buffers) {
    unit = std::gcd(std::gcd(unit, buffer.size), buffer.min_offset);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const InstanceBuffer& buffer : buffers) {
      if (unit % buffer.alignment == 0 || buffer.alignment % unit == 0) continue;
      unit = std::gcd(unit, buffer.alignment);
      changed = true;
    }
  }
  return unit;
}

}  // namespace

std::optional<Instance> MakeInstance(const std::vector<Buffer>& buffers) {
  Instance instance;
  int64_t common_alignment = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& buffer = buffers[i];
    if (buffer.size <= 0 || buffer.lower >= buffer.upper) continue;
    InstanceBuffer entry;
    entry.size = entry.bytes = buffer.size;
    entry.alignment = buffer.alignment;
    entry.fixed = buffer.offset.has_value();
    entry.min_offset = buffer.offset.value_or(0);
    entry.source = i;
    if (entry.min_offset % entry.alignment != 0) return std::nullopt;
    common_alignment = std::gcd(common_alignment, entry.alignment);
    instance.buffers.push_back(entry);
  }
  int64_t sum = 0;
  for (InstanceBuffer& buffer : instance.buffers) {
    // Any buffer begins at a multiple of the common alignment, so the padding is unusable anyway.
    buffer.size = AlignUpSaturated(buffer.size, std::max<int64_t>(1, common_alignment));
    sum = AddSaturated(
        sum, AddSaturated(buffer.size, AddSaturated(buffer.alignment, buffer.min_offset)));
    if (sum > kLargestSum) return std::nullopt;
  }
  if (instance.buffers.empty()) return instance;
  instance.unit = FindUnit(instance.buffers);
  for (InstanceBuffer& buffer : instance.buffers) {
    buffer.size /= instance.unit;
    buffer.min_offset /= instance.unit;
    buffer.alignment = std::max<int64_t>(1, buffer.alignment / instance.unit);
  }
  instance.sections = AssignSections(buffers, instance.buffers);
  int64_t incidences = 0;
  for (const InstanceBuffer& buffer : instance.buffers) {
    incidences += buffer.last_section - buffer.first_section + 1;
  }
  if (incidences > kMostIncidences) return std::nullopt;
  std::stable_sort(instance.buffers.begin(), instance.buffers.end(),
                   [](const InstanceBuffer& a, const InstanceBuffer& b) {
                     return a.first_section < b.first_section;
                   });
  return instance;
}

}  // namespace tenon::converter
