// The code of a segment: descriptors that the accelerator fetches, and what they point to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/fpga/codegen/outcome.hpp"
#include "backends/fpga/codegen/segment_source.hpp"

namespace tenon::fpga {

/// The configuration that code is made for; all sizes are powers of two or multiples of them as
/// the accelerator is built (docs/boards.md).
struct CodeTarget {
  int input_channels = 32;
  int output_channels = 32;
  int pixels = 2;
  int lanes = 32;
  int accumulator_pixels = 512;
  int64_t map_bytes = 0;
  int64_t weight_bytes = 0;
};

/// What one layer is predicted to take, or one band of it.
struct LayerCycles {
  std::string name;  ///< of the op
  int64_t multiply_accumulates = 0;
  int64_t cycles = 0;
  const char* waits_for = "";  ///< what most of the cycles beside the array's work go to
};

struct SegmentCode {
  struct Relocation {
    int base_register = 0;
    int block = -1;  ///< of the source; -1: the constants; kScratchBlock (layers.hpp)
    bool writes = false;
  };
  std::vector<uint8_t> descriptors;
  std::vector<uint8_t> constants;  ///< packed weights, factors and tables
  std::vector<Relocation> relocations;
  uint32_t version = 0;              ///< of the descriptors' format
  std::vector<uint32_t> parameters;  ///< of the configuration, as its registers give them
  std::string listing;               ///< the descriptors as text, one line each
  std::vector<LayerCycles> layers;
  int64_t cycles = 0;         ///< from start to done
  int64_t map_words = 0;      ///< of the on-chip memory
  int64_t scratch_bytes = 0;  ///< of memory for what the code writes and reads itself
};

/// Deterministic. Refuses, in words, what the accelerator cannot run.
[[nodiscard]] Outcome<SegmentCode> GenerateCode(const SegmentSource& source,
                                                const CodeTarget& target);

}  // namespace tenon::fpga
