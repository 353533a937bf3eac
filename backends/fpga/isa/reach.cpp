#include "backends/fpga/isa/reach.hpp"

namespace tenon::fpga::isa {
namespace {

constexpr uint64_t kPlanes = 4;
constexpr uint64_t kPlaneLineBytes = 16;
constexpr uint64_t kFoldedBytes = 4;
constexpr uint64_t kTableBytes = 256 + 2 * 256 * 4;

uint64_t InPixels(const Descriptor& d) { return uint64_t{d.in_height} * d.in_width; }
uint64_t OutPixels(const Descriptor& d) { return uint64_t{d.out_height} * d.out_width; }

MemoryReach ReachOfMap(const MemoryMap& map, uint64_t pixels) {
  if (!map.used) return {};
  return {map.address, (pixels - 1) * map.pitch + map.channels};
}

/// True if a map in memory has as many channels as there is room for in its groups.
bool FitsGroups(const MemoryMap& map, uint64_t most_channels) {
  return !map.used ||
         (map.channels > 0 && map.channels <= most_channels && map.pitch >= map.channels);
}

}  // namespace

Reach ReachOf(const Descriptor& d) {
  Reach reach;
  reach.load = ReachOfMap(d.load, InPixels(d));
  reach.store = ReachOfMap(d.store, OutPixels(d));
  if (d.op != LayerOp::kTransfer) {
    const uint64_t lines = uint64_t{d.group_lines} * d.out_groups;
    reach.weights = {d.weights, uint64_t{d.plane_bytes} * (kPlanes - 1) + lines * kPlaneLineBytes};
  }
  if (d.has_table || d.has_residual) reach.tables = {d.tables, kTableBytes};
  return reach;
}

bool FitsChip(const Descriptor& d, const Parameters& parameters) {
  const uint64_t group = parameters.group;
  if (!FitsGroups(d.load, d.folded ? kFoldedBytes : d.in_groups * group) ||
      !FitsGroups(d.store, d.out_groups * group)) {
    return false;
  }
  const uint64_t in = d.folded ? (InPixels(d) * kFoldedBytes + group - 1) / group
                               : (d.in_groups - 1) * uint64_t{d.in_group_words} + InPixels(d);
  const uint64_t out = (d.out_groups - 1) * uint64_t{d.out_group_words} + OutPixels(d);
  const uint64_t words = parameters.map_words;
  return d.input + in <= words && d.output + out <= words &&
         (!d.has_residual || d.residual + out <= words);
}

}  // namespace tenon::fpga::isa
