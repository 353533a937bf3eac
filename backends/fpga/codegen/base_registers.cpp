#include "backends/fpga/codegen/base_registers.hpp"

#include <algorithm>
#include <utility>

namespace tenon::fpga {

BaseRegisters::BaseRegisters(const SegmentSource& source) : source_(source) {
  windows_.emplace_back();
}

uint32_t BaseRegisters::WindowOf(int block, bool writes, int layer) {
  for (size_t i = 1; i < windows_.size(); ++i) {
    if (windows_[i].block != block) continue;
    windows_[i].writes = windows_[i].writes || writes;
    return static_cast<uint32_t>(i);
  }
  Window made{block, writes, 0, 0, layer};
  const auto memory_of = [&](int of) {
    return of < 0 ? -1 : source_.blocks[static_cast<size_t>(of)].memory;
  };
  const int memory = memory_of(block);
  if (memory >= 0) made.place = source_.blocks[static_cast<size_t>(block)].place;
  for (const Window& other : windows_) {
    const bool shared = memory >= 0 && memory_of(other.block) == memory;
    if (shared) {
      made.base_register = other.base_register;
      break;
    }
    made.base_register = std::max(made.base_register, other.base_register + 1);
  }
  windows_.push_back(made);
  return static_cast<uint32_t>(windows_.size() - 1);
}

int64_t BaseRegisters::BeginOf(const Window& window) const {
  int64_t begin = window.place;
  for (const Window& other : windows_) {
    if (other.base_register == window.base_register) begin = std::min(begin, other.place);
  }
  return begin;
}

std::optional<BaseRegisters::Failure> BaseRegisters::Set(
    std::vector<isa::Descriptor>& descriptors) const {
  if (windows_.size() > isa::kMostWindows) {
    return Failure{windows_.back().layer, "a segment of the accelerator exchanges at most " +
                                              std::to_string(isa::kMostWindows - 1) +
                                              " feature maps"};
  }
  for (const Window& window : windows_) {
    if (window.base_register >= static_cast<int>(isa::kBaseRegisters)) {
      return Failure{window.layer,
                     "a segment of the accelerator exchanges feature maps of at most " +
                         std::to_string(isa::kBaseRegisters - 1) + " memories"};
    }
  }
  std::vector<isa::Descriptor> changed = descriptors;
  for (isa::Descriptor& descriptor : changed) {
    for (isa::MemoryMap* map : {&descriptor.load, &descriptor.store}) {
      if (!map->used) continue;
      const Window& window = windows_[map->address.base_register];
      const int64_t offset = map->address.offset + window.place - BeginOf(window);
      if (offset > UINT32_MAX) {
        return Failure{window.layer, "its feature map lies too far from others of its segment"};
      }
      map->address = {static_cast<uint32_t>(window.base_register), static_cast<uint32_t>(offset)};
    }
  }
  descriptors = std::move(changed);
  return std::nullopt;
}

std::vector<SegmentCode::Relocation> BaseRegisters::Relocations() const {
  std::vector<Window> sorted = windows_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Window& a, const Window& b) {
    return std::pair(a.base_register, a.place) < std::pair(b.base_register, b.place);
  });
  std::vector<SegmentCode::Relocation> relocations;
  for (const Window& window : sorted) {
    relocations.push_back({window.base_register, window.block, window.writes});
  }
  return relocations;
}

}  // namespace tenon::fpga
