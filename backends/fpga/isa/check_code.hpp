// Checks code before an accelerator runs it. The accelerator believes what a descriptor says of
// memory: on a board whose logic reaches all of it, code is as dangerous as a program.
#pragma once

#include <cstdint>

#include "backends/fpga/isa/parameters.hpp"
#include "runtime/base/span.hpp"
#include "runtime/base/status.hpp"

namespace tenon::fpga::isa {

/// Memory that code may use: `bytes` from `begin` on, counted from where its base register leads.
struct BaseWindow {
  uint32_t base_register = 0;
  uint64_t begin = 0;
  uint64_t bytes = 0;
  bool writes = false;
};

/// Every descriptor means something, the last one alone is the last, and none reaches out of the
/// windows, over the chip, or for more weights than its passes take. Errors: kCorruptPlan (the
/// message has the descriptor's number), kUnsupported (parameters that no build has).
[[nodiscard]] Status CheckCode(Span<const uint8_t> code, const Parameters& parameters,
                               Span<const BaseWindow> windows);

}  // namespace tenon::fpga::isa
