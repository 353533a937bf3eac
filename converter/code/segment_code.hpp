// Makes the code of every segment that an accelerator runs.
#pragma once

#include <string>
#include <vector>

#include "backends/fpga/codegen/segment_code.hpp"
#include "converter/board/board.hpp"
#include "converter/map/mark.hpp"
#include "converter/schedule/program_to_emit.hpp"

namespace tenon::converter {

/// What is known of one segment's code.
struct SegmentCodeReport {
  std::string program;
  size_t ops = 0;
  size_t code_bytes = 0;       ///< of descriptors
  size_t constants_bytes = 0;  ///< of what they point to
  int64_t cycles = 0;          ///< predicted, from start to done
  double use = 0;              ///< of the array: the ops' multiply-accumulates / what it could do
  std::vector<fpga::LayerCycles> layers;
};

struct GeneratedCodes {
  std::vector<SegmentCodeReport> segments;
  /// Ops that the accelerator cannot run after all, beside their neighbours: no program has code
  /// then, and they must be mapped elsewhere.
  std::vector<RefusedOp> refused;
};

/// Adds the code of all programs' segments on the board's accelerator; nothing on boards without.
[[nodiscard]] GeneratedCodes GenerateCodes(const Board& board,
                                           std::vector<ProgramToEmit>& programs);

}  // namespace tenon::converter
