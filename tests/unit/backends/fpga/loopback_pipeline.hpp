// Streams through a pipeline of CPU, the loopback board and CPU.
#pragma once

#include <vector>

#include "tests/unit/backends/fpga/loopback_plan.hpp"
#include "tests/unit/sdk/src/stream_testing.hpp"

namespace tenon::test {

/// Stages: CPU, board, CPU; a ring of three slots between the first two, one of two behind the
/// board.
inline PlanSpec PipelineOnBoard(bool fallback) {
  PlanSpec spec;
  spec.mode = 1;
  spec.backends = {"cpu", "fpga"};
  spec.kernels = {"cpu.unary.generic", "fpga.unary.code"};
  spec.arenas = {{}, {}, {64, 64, 0, 3}, {64, 64, 0, 2}};
  const auto buffer = [&](uint16_t arena) {
    const uint32_t tensor = spec.AddBuffer(0, kElements);
    spec.storages.back().index = arena;
    return tensor;
  };
  const uint32_t in = buffer(0);
  const uint32_t near = buffer(2);
  const uint32_t far = buffer(3);
  const uint32_t out = buffer(1);
  spec.stages = {0, 1, 2};
  spec.AddOp({in}, {near}, 0, {}, 0);
  spec.AddOp({near}, {far}, 1, {}, 1);
  spec.AddOp({far}, {out}, 2, {}, 2);
  for (uint16_t s = 0; s < 3; ++s) spec.segments[s].stage = s;
  spec.segments[1].backend = 1;
  spec.segments[1].reads = {near};
  spec.segments[1].writes = {far};
  spec.ops[1].kernel = 1;
  if (fallback) spec.ops[1].fallback_kernel = 0;
  spec.sections = {{CopyCode(4), 64, 0}};
  CodeSpec code = OnBoard().segments[1].code[0];
  code.relocations = {{StorageHome::kArena, 2, 0, 64, 0, false},
                      {StorageHome::kArena, 3, 0, 64, 1, true}};
  spec.segments[1].code = {code};
  spec.channels = {{0, 1, {near}, 3, 2}, {1, 2, {far}, 2, 3}};
  spec.AddInput(in);
  spec.AddOutput(out);
  return spec;
}

inline std::vector<Job> JobsFor(const tenon_plan* plan, size_t count) {
  std::vector<Job> jobs;
  for (size_t n = 0; n < count; ++n) {
    jobs.push_back(JobFor(plan, {Floats(kElements, static_cast<float>(n) + 1)}));
  }
  return jobs;
}

/// What the output's bytes are of the input's; -1: not the same for all.
inline int Flipped(const Job& job) {
  const std::byte first = job.inputs[0][0] ^ job.outputs[0][0];
  for (size_t i = 0; i < job.inputs[0].size(); ++i) {
    if ((job.inputs[0][i] ^ job.outputs[0][i]) != first) return -1;
  }
  return static_cast<int>(first);
}

inline tenon_stream_options PipelineOptions() {
  tenon_stream_options options = OptionsOf(TENON_STREAM_PIPELINE);
  options.results = 1000;
  options.device_timeout_ns = 500'000'000;
  return options;
}

}  // namespace tenon::test
