// A backend from outside the tree, as the converter sees it: the CPU's portable kernels under other
// names; and a board with a unit of it beside the CPU.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "backends/cpu/caps/cpu_caps.hpp"
#include "converter/board/board.hpp"
#include "converter/map/backends.hpp"

namespace tenon::test {

/// "twin.conv.portable" and so on; the same for every caller.
inline BackendCaps TwinBackend() {
  static std::deque<std::string> ids;
  static std::vector<KernelCaps> kernels;
  if (kernels.empty()) {
    for (const KernelCaps& caps : cpu::Kernels()) {
      if (!caps.portable) continue;
      ids.push_back("twin" + std::string(caps.id).substr(3));
      kernels.push_back(caps);
      kernels.back().id = ids.back().c_str();
    }
  }
  return {"twin", {kernels.data(), kernels.size()}};
}

inline std::vector<BackendCaps> CpuAndTwin() { return {cpu::CpuCaps(), TwinBackend()}; }

/// Units "cpu" and "twin" of equal rates, a start of the twin 20 us; both have priority rows for
/// every op: the twin's is better.
inline converter::Board TwinBoard() {
  converter::Board board;
  board.name = "twin-board";
  converter::Unit cpu;
  cpu.name = cpu.backend = cpu.kind = "cpu";
  cpu.launch_overhead_us = 0.1;
  cpu.multiply_accumulates_per_second = {{"f32", 1e9}};
  cpu.elementary_ops_per_second = 1e9;
  converter::Unit twin = cpu;
  twin.name = twin.backend = "twin";
  twin.kind = "gpu";
  twin.launch_overhead_us = 20;
  twin.enqueue_overhead_us = 1;
  board.units = {cpu, twin};
  converter::MemorySpace ram;
  ram.name = "ram";
  ram.bytes = int64_t{1} << 32;
  ram.bandwidth_bytes_per_second = 1e10;
  ram.holds_arena = ram.holds_constants = true;
  board.memory_spaces = {ram};
  board.priorities = {{"twin", "*", 1}, {"cpu", "*", 2}};
  return board;
}

}  // namespace tenon::test
