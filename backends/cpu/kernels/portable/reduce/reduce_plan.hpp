// Says which elements make an output of a reduction, and walks over them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/portable/indexing.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::cpu::portable {

/// Is the number of outputs that are reduced together.
inline constexpr int kReduceLanes = 16;

/// The dimensions of one reduction: `kept` ones make outputs, `reduced` ones are summed over, the
/// innermost in x last. `lane` is the kept dimension that kReduceLanes outputs are taken along.
struct ReducePlan {
  int kept = 0;
  int32_t kept_dims[kMaxRank] = {};
  ptrdiff_t kept_x[kMaxRank] = {};
  ptrdiff_t kept_y[kMaxRank] = {};
  int32_t lane_dim = 1;
  ptrdiff_t lane_x = 0;
  ptrdiff_t lane_y = 0;
  int reduced = 0;
  int32_t reduced_dims[kMaxRank] = {};
  ptrdiff_t reduced_x[kMaxRank] = {};
  int32_t run_dim = 1;  ///< the innermost reduced dimension, taken out of the arrays
  ptrdiff_t run_x = 0;
  int64_t reduced_count = 1;
};

/// Plans ReduceAttributes, with which the op's attributes must begin.
[[nodiscard]] ReducePlan PlanReduction(const OpCall& call);

/// Is a block of lanes. The last block of several is mostly a whole one, too, where lanes are
/// neighbours: its first lanes are those of the block before, which writes their outputs.
struct Reduction {
  ptrdiff_t x;  ///< offset of the first lane's first element
  ptrdiff_t y;  ///< offset of the first lane's output
  int lanes;
  int first;  ///< lane whose output is the first to be written
};

/// Calls `body(block)` for all outputs, on the call's threads.
template <typename Body>
void ForEachReduction(const ReducePlan& plan, const ParallelRunner* parallel, const Body& body) {
  const int lane_blocks = (plan.lane_dim + kReduceLanes - 1) / kReduceLanes;
  int blocks = lane_blocks;
  for (int i = 0; i < plan.kept; ++i) blocks *= plan.kept_dims[i];
  ParallelForWork(parallel, blocks, kReduceLanes * plan.reduced_count, [&](int begin, int end) {
    for (int block = begin; block < end; ++block) {
      int lane = block % lane_blocks * kReduceLanes;
      int lanes = plan.lane_dim - lane < kReduceLanes ? plan.lane_dim - lane : kReduceLanes;
      int first = 0;
      constexpr int kFewLanes = 4;  // which take less time one by one
      if (lane > 0 && lanes >= kFewLanes && lanes < kReduceLanes && plan.lane_x == 1) {
        first = kReduceLanes - lanes;
        lane -= first;
        lanes = kReduceLanes;
      }
      Reduction reduction = {lane * plan.lane_x, lane * plan.lane_y, lanes, first};
      int index = block / lane_blocks;
      for (int i = plan.kept - 1; i >= 0; --i) {
        reduction.x += index % plan.kept_dims[i] * plan.kept_x[i];
        reduction.y += index % plan.kept_dims[i] * plan.kept_y[i];
        index /= plan.kept_dims[i];
      }
      body(reduction);
    }
  });
}

/// Calls `body(offset)` for every run, `run_dim` elements of each lane `run_x` apart, of a block
/// whose first element is at offset 0.
template <typename Body>
void ForEachRun(const ReducePlan& plan, const Body& body) {
  if (plan.reduced_count == 0) return;
  int32_t index[kMaxRank] = {};
  ptrdiff_t offset = 0;
  for (;;) {
    body(offset);
    int axis = plan.reduced - 1;
    for (; axis >= 0; --axis) {
      offset += plan.reduced_x[axis];
      if (++index[axis] < plan.reduced_dims[axis]) break;
      offset -= plan.reduced_dims[axis] * plan.reduced_x[axis];
      index[axis] = 0;
    }
    if (axis < 0) return;
  }
}

}  // namespace tenon::cpu::portable
