// Writes a graph and the decisions about it as a plan file.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "converter/memory/arena_plan.hpp"

namespace tenon::converter {

struct EmitOptions {
  std::string board;  ///< name of the board
  uint64_t board_fingerprint = 0;
  std::string memory_space = "ram";  ///< of the arena and the constants
  uint32_t section_alignment = 64;
  std::vector<std::pair<std::string, std::string>> options;  ///< recorded as given
};

/// The bytes of the plan: the same for the same arguments. Errors (kInternal): what cannot be
/// written down (more than 65535 kernels, say).
[[nodiscard]] Result<std::vector<uint8_t>> EmitPlan(const Graph& graph, const Locations& locations,
                                                    const ArenaPlan& arena,
                                                    const EmitOptions& options);

}  // namespace tenon::converter
