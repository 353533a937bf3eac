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

/// Chain() with a constant that op 1 reads too.
inline PlanSpec WithConstant() {
  PlanSpec spec = Chain();
  spec.sections.push_back({std::vector<uint8_t>(64, 1), 64});
  spec.storages.push_back({0, 64, true, 0});
  spec.ops[1].inputs.push_back(static_cast<int32_t>(spec.AddTensor(3, {16})));
  return spec;
}

/// op0 in segment 0 and op1 in segment 1, with a channel between them.
inline PlanSpec TwoSegments() {
  PlanSpec spec = Chain();
  spec.segments = {{{0}}, {{1}}};
  spec.channels = {{0, 1, {1}, 2}};
  return spec;
}

}  // namespace tenon::test
