// One program of a plan with all decisions about it, which the emitter needs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converter/layout/arena_plan.hpp"
#include "converter/schedule/schedule.hpp"

namespace tenon::converter {

/// Values are those of the plan's schema.
enum class ProgramMode : uint8_t { kSequential = 0, kPipeline = 1, kReplicas = 2, kFallback = 3 };

/// A ring through which one stage passes tensors to later ones. Worker i of the schedule is stage
/// i.
struct PlannedChannel {
  int32_t from = 0;               ///< stage that writes
  int32_t to = 0;                 ///< last stage that reads
  int32_t arena = 0;              ///< index into ArenaPlan::arenas; its slots are the depth
  std::vector<TensorId> tensors;  ///< as ops of `from` write them
};

/// Borrows its pointers, which must stay valid until the plan is emitted. Without a schedule (null,
/// or no workers) one worker runs the arena plan's steps in order; with one, every step is in one
/// worker of it.
struct ProgramToEmit {
  std::string name = "sequential";
  ProgramMode mode = ProgramMode::kSequential;
  const Graph* graph = nullptr;
  const Locations* locations = nullptr;
  const ArenaPlan* arena = nullptr;
  const Schedule* schedule = nullptr;
  std::vector<std::string> worker_names;  ///< by worker; may be shorter
  std::vector<PlannedChannel> channels;
};

}  // namespace tenon::converter
