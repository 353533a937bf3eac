// The plan check proves that executing an opened plan can touch only what it should.
#pragma once

#include <cstddef>

#include "runtime/base/span.hpp"
#include "runtime/base/status.hpp"
#include "runtime/format/plan_view.hpp"

namespace tenon {

/// Called for every violation found; return false to stop at this one.
struct ViolationSink {
  bool (*report)(void* context, const Status& violation) = nullptr;
  void* context = nullptr;
};

/// Bytes of scratch that CheckPlan needs for this plan (aligned to 16), all programs considered.
[[nodiscard]] size_t PlanCheckScratchBytes(const PlanView& plan);

/// Checks every program of the plan:
///  - indices, dtypes, ranks, alignments and kernel/backend references are in range;
///  - every tensor lies inside its storage, every storage inside its arena or section; strides do
///    not let an output overlap itself; nothing writes a constant;
///  - every op is in exactly one step and one segment; every read comes after the writes that
///    fill what it reads, and before anything else writes there; storages whose lifetimes meet do
///    not share bytes (except an op that says it works in place, on exactly the same elements);
///  - with several workers, "after" means ordered by the workers' own order and explicit waits
///    (vector clocks), and waits cannot deadlock;
///  - segments are acyclic; channels join different segments, carry what their ends really hand
///    over, and cannot deadlock.
/// Shapes against op rules are checked where kernels are known (engine/session).
///
/// `scratch` holds at least PlanCheckScratchBytes, aligned to 16; no heap. About O(n log n).
/// Without a sink, returns the first violation. With one, reports each and returns the first.
/// Errors: kCorruptPlan with the reason; kOutOfMemory if scratch is too small.
Status CheckPlan(const PlanView& plan, Span<uint8_t> scratch, const ViolationSink& sink = {});

}  // namespace tenon
