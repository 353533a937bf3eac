// A board whose constants lie in a memory that ops do not run from.
#pragma once

#include "converter/board/board.hpp"

namespace tenon::test {

/// Puts constants into a slow memory, from which they are fetched before use.
inline void StageConstants(converter::Board& board) {
  converter::MemorySpace slow;
  slow.name = "slow";
  slow.bytes = int64_t{1} << 30;
  slow.bandwidth_bytes_per_second = 1e9;
  slow.holds_constants = slow.stage_constants = true;
  board.memory_spaces.front().holds_constants = false;
  board.memory_spaces.push_back(slow);
  converter::Unit dma;
  dma.name = dma.kind = "dma";
  dma.backend = "cpu";
  dma.ops = {"copy"};
  board.units.push_back(dma);
  board.links = {{"dma", "slow", "ram", 1e9, 1000}, {"dma", "ram", "slow", 1e9, 1000}};
}

}  // namespace tenon::test
