// Predicts how long copies of a program take that run beside each other and share a memory's
// bandwidth, and programs whose idle units help the busy ones (docs/methods.md, P1, P2). One
// simulator gives all times; this unrolls programs for it.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/solve/time/simulator.hpp"

namespace tenon::converter {

/// The bandwidth that everything running at the same time shares.
struct SharedBandwidth {
  double bytes_per_second = 0;  ///< of all together; 0: each gets what its own port gives
  /// Of a step that touches up to half as many bytes all are served by caches of its own unit, of
  /// one that touches half as many again none, and in between a part.
  int64_t cache_bytes = 0;
};

struct SideBySide {
  int32_t replicas = 1;
  int64_t runs = 1;  ///< of the program, by all replicas together: the next free one takes the next
  std::vector<bool> one_for_all;  ///< by unit: replicas take turns on it; shorter: each has its own
  Picoseconds hand_over = 0;      ///< before each run: waking the replica's thread
  SharedBandwidth memory;
};

/// Returns when all runs are over. Runs beyond the fourth of a replica are counted as long as the
/// fourth. Errors: those of Simulate. O(replicas x steps log steps).
[[nodiscard]] Result<Picoseconds> SideBySideTime(const SimulatedProgram& once,
                                                 const SideBySide& options);

/// Returns the program if `threads` threads are shared by its units: those that a unit does not
/// need, because others wait, help those that work. `helped`, by step: how many times as fast all
/// threads together do the step as one does; 1: cannot be shared. With some of them it goes so much
/// faster as is their share of all. Found by repeating the simulation with the times that it gave.
/// Errors: those of Simulate.
[[nodiscard]] Result<SimulatedProgram> WithIdleHelp(const SimulatedProgram& program, int threads,
                                                    const std::vector<double>& helped);

}  // namespace tenon::converter
