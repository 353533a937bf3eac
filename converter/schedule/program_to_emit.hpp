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

/// A ring through which one stage passes tensors to later ones.
struct PlannedChannel {
  int32_t from = 0;               ///< stage that writes
  int32_t to = 0;                 ///< last stage that reads
  int32_t arena = 0;              ///< index into ArenaPlan::arenas; its slots are the depth
  std::vector<TensorId> tensors;  ///< as ops of `from` write them
};

/// Code that a device runs one segment by (sdk/schema/plan.fbs, SegmentCode).
struct DeviceCode {
  struct Relocation {
    int32_t base_register = 0;
    TensorId root = kNone;  ///< leads to its storage; kNone: to the code's constants
    bool writes = false;
    bool is_scratch = false;  ///< leads to the workspace of the segment's first op
  };
  std::vector<OpId> ops;              ///< the segment's, in order
  std::vector<uint8_t> instructions;  ///< what the device fetches first
  std::vector<uint8_t> constants;
  std::string accelerator;
  uint32_t version = 0;
  std::vector<uint32_t> parameters;
  std::vector<uint32_t> image;  ///< uuid of the device's image, 4 words; empty: any
  std::vector<Relocation> relocations;
  int64_t scratch_bytes = 0;  ///< of memory that the code wants for itself
};

/// One kernel that runs a group of ops (sdk/schema/plan.fbs, Group).
struct GroupSource {
  std::vector<OpId> ops;  ///< the group's, in order
  std::string source;
  std::vector<uint32_t> arguments;  ///< by op
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
  std::vector<DeviceCode> code;            ///< of the segments that have some
  std::vector<GroupSource> group_sources;  ///< of the groups (ArenaPlan::groups) that have one
};

/// Returns the ops of each segment of the program, in the order of execution: those of its
/// schedule, or else runs of neighbouring steps of one worker and backend, which in a topological
/// order cannot wait for each other in a cycle.
[[nodiscard]] std::vector<std::vector<OpId>> SegmentsOf(const ProgramToEmit& program);

}  // namespace tenon::converter
