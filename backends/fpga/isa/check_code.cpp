#include "backends/fpga/isa/check_code.hpp"

#include <cstring>

#include "backends/fpga/isa/reach.hpp"

namespace tenon::fpga::isa {
namespace {

bool IsInside(const MemoryReach& reach, Span<const BaseWindow> windows, bool writes) {
  if (reach.bytes == 0) return true;
  const uint64_t begin = reach.address.offset;
  for (const BaseWindow& window : windows) {
    if (window.base_register != reach.address.base_register || (writes && !window.writes) ||
        begin < window.begin || begin - window.begin > window.bytes) {
      continue;
    }
    if (reach.bytes <= window.bytes - (begin - window.begin)) return true;
  }
  return false;
}

/// Lines of weights of a group of outputs: the passes' tiles and the factors. Of a layer that
/// fetches other numbers the accelerator would wait for lines that never come.
bool HasItsLines(const Descriptor& d, const Parameters& parameters) {
  if (d.op == LayerOp::kTransfer) return true;
  const uint64_t lines = uint64_t{PassesOf(d)} * parameters.TileLines() + Parameters::kFactorLines;
  if (d.group_lines != lines) return false;
  const uint64_t kept = d.by_block ? lines * d.out_groups : lines;
  return d.reload || d.blocks == 1 || kept <= parameters.weight_lines;
}

Status CheckDescriptor(int64_t number, const Descriptor& d, const Parameters& parameters,
                       Span<const BaseWindow> windows) {
  TENON_ENSURE(FitsChip(d, parameters), kCorruptPlan,
               "descriptor {0} of the code has a map that reaches over the chip", number);
  TENON_ENSURE(d.op == LayerOp::kTransfer || d.block_pixels <= parameters.BlockPixels(),
               kCorruptPlan, "descriptor {0} of the code has blocks of {1} pixels: {2} at most",
               number, d.block_pixels, parameters.BlockPixels());
  TENON_ENSURE(HasItsLines(d, parameters), kCorruptPlan,
               "descriptor {0} of the code has {1} lines of weights, which its passes do not take",
               number, d.group_lines);
  const Reach reach = ReachOf(d);
  TENON_ENSURE(IsInside(reach.weights, windows, false) && IsInside(reach.tables, windows, false) &&
                   IsInside(reach.load, windows, false),
               kCorruptPlan, "descriptor {0} of the code reads outside of the segment's memory",
               number);
  TENON_ENSURE(IsInside(reach.store, windows, true), kCorruptPlan,
               "descriptor {0} of the code writes outside of what the segment may write", number);
  return OkStatus();
}

}  // namespace

Status CheckCode(Span<const uint8_t> code, const Parameters& parameters,
                 Span<const BaseWindow> windows) {
  TENON_ENSURE(IsGroup(static_cast<int>(parameters.group)), kUnsupported,
               "the accelerator has groups of {0} channels: 8, 16 or 32 are known",
               parameters.group);
  TENON_ENSURE(!code.empty() && code.size() % kDescriptorBytes == 0, kCorruptPlan,
               "the code has {0} bytes, which are no descriptors",
               static_cast<int64_t>(code.size()));
  const auto count = static_cast<int64_t>(code.size() / kDescriptorBytes);
  for (int64_t number = 0; number < count; ++number) {
    uint32_t words[kDescriptorWords];
    std::memcpy(words, code.data() + number * kDescriptorBytes, sizeof words);
    Descriptor descriptor;
    if (const Status status = Decode(words, descriptor); !status.ok()) {
      return Status(StatusCode::kCorruptPlan, "descriptor {0} of the code: {s}", number)
          .About(status.message());
    }
    TENON_RETURN_IF_ERROR(CheckDescriptor(number, descriptor, parameters, windows));
    TENON_ENSURE(descriptor.last == (number + 1 == count), kCorruptPlan,
                 "descriptor {0} of the code's {1} is the last, or the last one is not", number,
                 count);
  }
  return OkStatus();
}

}  // namespace tenon::fpga::isa
