// Simulates by discrete events a list of steps on units that run in parallel (docs/methods.md,
// C7a).
//
// A unit runs its steps one at a time in the order given (an in-order queue). A step begins when
// its unit is free and every step that it waits for has ended; it takes `fixed` (start overhead,
// latency), then runs `compute` and its transfers in parallel, and the slowest decides. Transfers
// go through ports: a private port always gives its bandwidth; a shared one divides its bandwidth
// evenly among the steps that use it at that moment (fluid model). All times are integer
// picoseconds, so that results are the same everywhere.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converter/status.hpp"

namespace tenon::converter {

using Picoseconds = int64_t;
constexpr double kPicosecondsPerMillisecond = 1e9;
[[nodiscard]] inline double Milliseconds(Picoseconds time) {
  return static_cast<double>(time) / kPicosecondsPerMillisecond;
}

/// Returns how long `amount` takes at `per_second`, to the nearest picosecond; 0 where the rate is
/// not known (0 or less).
[[nodiscard]] Picoseconds TimeAtRate(double amount, double per_second);

struct SimulatedPort {
  std::string name;
  double bytes_per_second = 0;  ///< 0: not known, transfers take no time
  bool shared = false;
};

struct PortUse {
  int32_t port = 0;
  int64_t bytes = 0;
};

struct SimulatedStep {
  int32_t unit = 0;
  Picoseconds fixed = 0;
  Picoseconds compute = 0;
  std::vector<PortUse> uses;
  std::vector<int32_t> waits;  ///< steps (by index, earlier or later) that must have ended
};

/// Steps are in issue order: a unit runs its own in the order of this list.
struct SimulatedProgram {
  std::vector<std::string> units;
  std::vector<SimulatedPort> ports;
  std::vector<SimulatedStep> steps;
  /// By unit; shorter: false. True: whenever the unit is free it runs the first of its steps in the
  /// list that waits for nothing, also before earlier ones (threads that take turns on a core).
  std::vector<bool> takes_ready = {};
};

struct Simulation {
  Picoseconds makespan = 0;
  std::vector<Picoseconds> start;  ///< by step
  std::vector<Picoseconds> end;    ///< by step
  std::vector<Picoseconds> busy;   ///< by unit
};

/// Takes O((steps + uses) log steps + waits), also with shared ports. Errors (kInternal): a unit,
/// port or step is out of range; times are below 0; steps wait for each other in a cycle, through
/// the order of their unit or otherwise (the message names two of them). kUsage: the steps take
/// weeks, which only a board's or a profile's figures can mean.
[[nodiscard]] Result<Simulation> Simulate(const SimulatedProgram& program);

}  // namespace tenon::converter
