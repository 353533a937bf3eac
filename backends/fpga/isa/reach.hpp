// What a descriptor reaches: words of the maps on chip, and bytes behind the base registers.
#pragma once

#include <cstdint>

#include "backends/fpga/isa/descriptor.hpp"
#include "backends/fpga/isa/parameters.hpp"

namespace tenon::fpga::isa {

/// `bytes` from an address on; 0: none.
struct MemoryReach {
  MemoryAddress address;
  uint64_t bytes = 0;
};

struct Reach {
  MemoryReach weights, tables, load;  ///< read
  MemoryReach store;                  ///< written
};

[[nodiscard]] Reach ReachOf(const Descriptor& descriptor);

/// True if the maps lie within the words that the build has.
[[nodiscard]] bool FitsChip(const Descriptor& descriptor, const Parameters& parameters);

}  // namespace tenon::fpga::isa
