// Plans that the plan check's tests start from, and how they ask it.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "runtime/format/plan_check.hpp"
#include "runtime/ops/op_kind.hpp"
#include "tests/unit/runtime/format/plan_fixture.hpp"

namespace tenon::test {

inline bool Says(const PlanSpec& spec, const std::string& words) {
  const std::string text = Check(spec);
  CAPTURE(text);
  const bool said = text.find(words) != std::string::npos;
  if (!said) MESSAGE("expected '" << words << "', got '" << text << "'");
  return said;
}

/// Two workers: 0 computes left, 1 computes right, 0 joins them after waiting.
inline PlanSpec ForkAndJoin() {
  PlanSpec spec;
  const uint32_t in = spec.AddBuffer(0, 16);
  const uint32_t left = spec.AddBuffer(64, 16);
  const uint32_t right = spec.AddBuffer(128, 16);
  const uint32_t out = spec.AddBuffer(192, 16);
  spec.AddOp({in}, {left}, 0);
  spec.AddOp({in}, {right}, 1);
  spec.AddOp({left, right}, {out}, 0, {{1, 0}});
  spec.AddInput(in);
  spec.AddOutput(out);
  return spec;
}

/// Two ops write the column halves of one [4, 8] tensor, a third reads all of it.
inline PlanSpec Columns() {
  PlanSpec spec;
  const uint32_t in = spec.AddBuffer(0, 16);
  const uint32_t joined = spec.AddStorage(64, 128);
  const uint32_t left = spec.AddTensor(joined, {4, 4}, 0, {8, 1});
  const uint32_t right = spec.AddTensor(joined, {4, 4}, 16, {8, 1});
  const uint32_t all = spec.AddTensor(joined, {4, 8});
  const uint32_t out = spec.AddBuffer(192, 32);
  spec.AddOp({in}, {left});
  spec.AddOp({in}, {right});
  spec.AddOp({all}, {out});
  spec.AddInput(in);
  spec.AddOutput(out);
  return spec;
}

/// Tensors of Branch().
namespace branch {
inline constexpr int32_t kX = 0, kCondition = 1, kOther = 2, kA = 3, kB = 4;
}

/// a = f(x) and b = f(a) where the condition is met; y = select(condition, b, x).
inline PlanSpec Branch() {
  PlanSpec spec;
  const uint32_t x = spec.AddBuffer(0, 16);
  const uint32_t condition = spec.AddTensor(spec.AddStorage(64, 1), {1}, 0, {}, DType::kBool);
  const uint32_t other = spec.AddTensor(spec.AddStorage(128, 1), {1}, 0, {}, DType::kBool);
  const uint32_t a = spec.AddBuffer(192, 16);
  const uint32_t b = spec.AddBuffer(256, 16);
  const uint32_t y = spec.AddBuffer(320, 16);
  spec.AddOp({x}, {a});
  spec.AddOp({a}, {b});
  spec.AddOp({condition, b, x}, {y});
  spec.ops[0].condition = spec.ops[1].condition = {branch::kCondition, true};
  spec.ops[2].kind = static_cast<uint16_t>(OpKind::kSelect);
  spec.AddInput(x);
  spec.AddInput(condition);
  spec.AddInput(other);
  spec.AddOutput(y);
  return spec;
}

/// in -> a, and a's memory is taken over by b in place.
inline PlanSpec InPlace() {
  PlanSpec spec;
  const uint32_t in = spec.AddBuffer(0, 16);
  const uint32_t a = spec.AddBuffer(64, 16);
  const uint32_t b = spec.AddBuffer(64, 16);
  const uint32_t out = spec.AddBuffer(128, 16);
  spec.AddOp({in}, {a});
  spec.AddOp({a}, {b});
  spec.ops[1].in_place = 0;
  spec.AddOp({b}, {out});
  spec.AddInput(in);
  spec.AddOutput(out);
  return spec;
}

/// An output whose rows follow, `distance` bytes behind, those of the input that have been read.
/// Rows are of 16 bytes, and the first half of each is read twice: by its op and the one before.
inline PlanSpec Following(uint64_t distance) {
  PlanSpec spec;
  const uint32_t source = spec.AddStorage(distance, 64);
  const uint32_t target = spec.AddStorage(0, 64);
  const auto row = [&](uint32_t storage, uint64_t begin, int32_t bytes) {
    return spec.AddTensor(storage, {bytes}, begin, {1}, DType::kU8);
  };
  spec.arenas[0].bytes = 64 + distance;
  spec.AddInput(row(source, 0, 64));
  for (uint64_t i = 0; i < 4; ++i) {
    spec.AddOp({row(source, 16 * i, i < 3 ? 24 : 16)}, {row(target, 16 * i, 16)});
  }
  spec.AddOutput(row(target, 0, 64));
  return spec;
}

/// Chain() with a constant that op 1 reads too.
inline PlanSpec WithConstant() {
  PlanSpec spec = Chain();
  spec.sections.push_back({std::vector<uint8_t>(64, 1), 64});
  spec.storages.push_back({0, 64, true, 0});
  spec.ops[1].inputs.push_back(static_cast<int32_t>(spec.AddTensor(3, {16})));
  return spec;
}

/// in -> cpu -> [device -> device] -> cpu -> out, with a worker for each backend.
inline PlanSpec WithDevice() {
  PlanSpec spec;
  spec.backends = {"cpu", "npu"};
  spec.kernels = {"cpu.unary.generic", "npu.unary.generic"};
  for (uint64_t i = 0; i < 5; ++i) spec.AddBuffer(i * 64, 16);
  spec.AddOp({0}, {1}, 0);
  spec.AddOp({1}, {2}, 1, {{0, 0}}, 1);
  spec.AddOp({2}, {3}, 1, {}, 1);
  spec.AddOp({3}, {4}, 0, {{1, 1}}, 2);
  spec.ops[1].kernel = 1;
  spec.ops[2].kernel = 1;
  spec.segments[1] = {{1, 2}, 1, 0, {1}, {3}};
  spec.AddInput(0);
  spec.AddOutput(4);
  return spec;
}

/// The same, with the CPU's form of the device's ops.
inline PlanSpec WithFallback() {
  PlanSpec spec = WithDevice();
  spec.ops[1].fallback_kernel = 0;
  spec.ops[2].fallback_kernel = 0;
  return spec;
}

/// Three stages; a ring of two slots from the first to the last, and one of three to the second.
inline PlanSpec Pipeline() {
  PlanSpec spec;
  spec.mode = 1;
  // Arenas: 0 to 2 are the stages', 3 is a ring from 0 to 2, 4 from 0 to 1, 5 from 1 to 2.
  spec.arenas = {{}, {}, {}, {256, 64, 0, 2}, {64, 64, 0, 3}, {64, 64, 0, 1}};
  const auto buffer = [&](uint16_t arena, uint64_t offset) {
    const uint32_t tensor = spec.AddBuffer(offset, 16);
    spec.storages.back().index = arena;
    return tensor;
  };
  const uint32_t in = buffer(0, 0);
  const uint32_t far = buffer(3, 0);
  const uint32_t near = buffer(4, 0);
  const uint32_t own = buffer(1, 0);
  const uint32_t next = buffer(5, 0);
  const uint32_t out = buffer(2, 0);
  spec.stages = {0, 1, 2};
  spec.AddOp({in}, {far}, 0, {}, 0);
  spec.AddOp({in}, {near}, 0, {}, 0);
  spec.AddOp({near}, {own}, 1, {}, 1);
  spec.AddOp({own}, {next}, 1, {}, 1);
  spec.AddOp({next, far}, {out}, 2, {}, 2);
  for (uint16_t s = 0; s < 3; ++s) spec.segments[s].stage = s;
  spec.channels = {{0, 2, {far}, 2, 3}, {0, 1, {near}, 3, 4}, {1, 2, {next}, 1, 5}};
  spec.AddInput(in);
  spec.AddOutput(out);
  return spec;
}

/// The same, with a worker that copies a constant for each op of the second stage, to the same
/// bytes: the second copy waits until the first has been read.
inline PlanSpec HelpedPipeline() {
  PlanSpec spec = Pipeline();
  spec.sections.push_back({std::vector<uint8_t>(128, 1), 64});
  std::vector<uint32_t> copies;
  for (const uint64_t at : {0, 64}) {
    const auto storage = static_cast<uint32_t>(spec.storages.size());
    spec.storages.push_back({at, 64, true, 0});
    const uint32_t constant = spec.AddTensor(storage, {16});
    copies.push_back(spec.AddBuffer(128, 16));
    spec.storages.back().index = 1;
    spec.AddOp({constant}, {copies.back()}, 3, {}, 3);
  }
  spec.segments[3].stage = 1;
  spec.workers[3][1].waits = {{1, 0}};
  for (size_t i = 0; i < 2; ++i) {
    spec.ops[2 + i].inputs.push_back(static_cast<int32_t>(copies[i]));
    spec.workers[1][i].waits = {{3, static_cast<uint32_t>(i)}};
  }
  return spec;
}

/// The same, whose last worker makes something for the third stage too: op 7, which no step of the
/// second stage waits for.
inline PlanSpec HelperHandsOn() {
  PlanSpec spec = HelpedPipeline();
  const uint32_t made = spec.AddBuffer(64, 16);
  spec.storages.back().index = 5;
  spec.arenas[5].bytes = 128;
  spec.AddOp({static_cast<uint32_t>(spec.ops[6].outputs[0])}, {made}, 3, {}, 3);
  spec.ops[4].inputs.push_back(static_cast<int32_t>(made));
  return spec;
}

}  // namespace tenon::test
