// What each layer of a start takes, from the accelerator's own counters.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "backends/fpga/isa/registers.hpp"
#include "backends/fpga/sim/compute_unit.hpp"

namespace tenon::fpga::sim {

/// Reads the counters of a compute unit while it runs, and notes them where one layer follows
/// another. For the accelerator only; other kernels have other registers.
class LayerTrace {
 public:
  using Counts = std::array<uint32_t, std::size(isa::kCounterNames)>;

  /// Clocks between two looks: how far off the notes may be, and the shortest layer that is seen.
  static constexpr unsigned kClocksPerLook = 16;

  /// One look, which takes the control port a few clocks. A layer begins where the count of clocks
  /// that waited for descriptors grows after it had stood still.
  void Look(ComputeUnit& unit);
  /// The last look, after the end; appends a line of JSON to the file: for every layer what each
  /// counter grew by, in the order of isa::kCounterNames.
  void Finish(ComputeUnit& unit, const std::string& file);

 private:
  std::vector<Counts> begins_;  ///< of layers
  uint32_t waited_ = 0;         ///< for descriptors, at the last look
  bool stood_still_ = true;
};

}  // namespace tenon::fpga::sim
