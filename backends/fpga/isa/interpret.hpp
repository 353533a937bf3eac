// Executes code as the accelerator does, byte for byte, without clocks: what its RTL and the code
// generator are tested against.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/fpga/isa/descriptor.hpp"
#include "backends/fpga/isa/parameters.hpp"

namespace tenon::fpga::isa {

/// Memory that a base register points to.
struct Region {
  uint8_t* data = nullptr;
  uint64_t bytes = 0;
};

struct Memory {
  Region bases[kBaseRegisters];
};

/// What is on chip. It is kept from start to start, but no code may rely on it.
struct Chip {
  explicit Chip(const Parameters& build)
      : parameters(build), maps(size_t{build.map_words} * build.group) {}

  Parameters parameters;
  std::vector<int8_t> maps;
};

struct Outcome {
  Error error = Error::kNone;
  uint32_t descriptor = 0;  ///< that stopped it
  Status status;            ///< the same in words
};

/// Runs `code` to its last descriptor. What lies outside of a region, or of the chip, is an error
/// as the accelerator's memory would answer.
[[nodiscard]] Outcome Interpret(const uint8_t* code, uint64_t code_bytes, const Memory& memory,
                                Chip& chip);

}  // namespace tenon::fpga::isa
