// Which memory a segment's code reaches through which base register.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/fpga/codegen/segment_code.hpp"
#include "backends/fpga/codegen/segment_source.hpp"
#include "backends/fpga/isa/descriptor.hpp"
#include "backends/fpga/isa/registers.hpp"

namespace tenon::fpga {

/// Windows to the constants and to the blocks that layers load and store. Until registers are set
/// descriptors have the number of a window in place of that of a register; window 0, which is
/// register 0 too, is the constants'.
class BaseRegisters {
 public:
  explicit BaseRegisters(const SegmentSource& source);

  struct Failure {
    int layer = -1;
    std::string reason;
  };

  /// The number of the window to a block (or kScratchBlock), which `layer` reads or writes.
  uint32_t WindowOf(int block, bool writes, int layer);

  /// Gives each memory a register, which leads to the first of its windows, and counts the loads'
  /// and stores' offsets from there. Nothing is changed if that is not possible.
  std::optional<Failure> Set(std::vector<isa::Descriptor>& descriptors) const;
  /// By register, and by place.
  [[nodiscard]] std::vector<SegmentCode::Relocation> Relocations() const;

 private:
  struct Window {
    int block = -1;
    bool writes = false;
    int base_register = 0;
    int64_t place = 0;
    int layer = -1;  ///< that wanted it first
  };

  /// Of a window's register: the least place.
  [[nodiscard]] int64_t BeginOf(const Window& window) const;

  const SegmentSource& source_;
  std::vector<Window> windows_;
};

}  // namespace tenon::fpga
