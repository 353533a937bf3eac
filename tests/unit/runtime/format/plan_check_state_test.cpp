// The plan check: what a program keeps from one run to the next.
#include "tests/unit/runtime/format/plan_check_samples.hpp"

namespace tenon::test {
namespace {

/// in, kept -> op0 -> next; next -> op1 -> out; `kept` finds `next`, and begins with a constant.
PlanSpec WithState() {
  PlanSpec spec;
  const uint32_t in = spec.AddBuffer(0, 16);
  const uint32_t kept = spec.AddBuffer(64, 16);
  const uint32_t next = spec.AddBuffer(128, 16);
  const uint32_t out = spec.AddBuffer(192, 16);
  spec.AddOp({in, kept}, {next});
  spec.AddOp({next}, {out});
  spec.AddInput(in);
  spec.AddOutput(out);
  spec.sections.push_back({std::vector<uint8_t>(64, 1), 64});
  spec.storages.push_back({0, 64, true, 0});
  spec.states.push_back({kept, next, 4});
  return spec;
}

TEST_CASE("CheckPlan, state: what is kept may begin with a constant or with zeros") {
  PlanSpec spec = WithState();
  CHECK(Check(spec) == "");
  spec.states[0].initial = -1;
  CHECK(Check(spec) == "");
}

TEST_CASE("CheckPlan, state: nothing takes the bytes of what is kept, even when it has been read") {
  PlanSpec spec = WithState();
  spec.storages[3].offset = 64;  // out, when the last op that reads `kept` is done
  CHECK(Says(spec, "storage 3 is written while storage 1 is alive on the same bytes"));
  spec.states.clear();
  spec.AddInput(1);
  CHECK(Check(spec) == "");
}

TEST_CASE("CheckPlan, state: no op takes over in place what is kept") {
  PlanSpec spec = WithState();
  spec.storages[2].offset = 64;
  spec.ops[0].in_place = 1;
  CHECK(Says(spec, "storage 2 is written while storage 1 is alive on the same bytes"));
}

TEST_CASE("CheckPlan, state: no op writes what is kept") {
  PlanSpec spec = WithState();
  spec.ops[1].outputs[0] = 1;
  CHECK(Says(spec, "which nothing else may write"));
}

TEST_CASE("CheckPlan, state: what the next run finds stays until the end of this one") {
  PlanSpec spec = WithState();
  spec.storages[3].offset = 128;
  spec.ops[1].in_place = 0;
  CHECK(Says(spec, "storage 3 is written while storage 2 is alive on the same bytes"));
}

TEST_CASE("CheckPlan, state: what the next run finds has been written") {
  PlanSpec spec = WithState();
  spec.states[0].write = spec.AddBuffer(256, 16);
  CHECK(Says(spec, "before all of it is written"));
}

TEST_CASE("CheckPlan, state: tensors and first values exist and fit") {
  const auto says = [](auto change) {
    PlanSpec spec = WithState();
    change(spec);
    return Says(spec, "state 0: no such tensors, of two types, or a first value that does not fit");
  };
  CHECK(says([](PlanSpec& spec) { spec.states[0].read = 4; }));
  CHECK(says([](PlanSpec& spec) { spec.states[0].write = UINT32_MAX; }));
  CHECK(says([](PlanSpec& spec) { spec.states[0].initial = 5; }));
  CHECK(says([](PlanSpec& spec) { spec.states[0].initial = -2; }));
  CHECK(says([](PlanSpec& spec) { spec.states[0].initial = 0; }));  // in an arena
  CHECK(says([](PlanSpec& spec) { spec.storages[4].bytes = 60; }));
  CHECK(says([](PlanSpec& spec) { spec.tensors[2].dtype = static_cast<uint8_t>(DType::kI32); }));
  CHECK(says([](PlanSpec& spec) {
    spec.tensors[2].dims = {4, 4}, spec.tensors[2].strides = {4, 1};
  }));
  CHECK(says([](PlanSpec& spec) { spec.states[0].read = spec.AddTensor(4, {16}); }));
}

/// A window: kept is the beginning of a storage, an op writes behind it, and what the next run
/// finds is its end.
PlanSpec WithWindow() {
  PlanSpec spec;
  const uint32_t in = spec.AddBuffer(0, 4);
  const uint32_t window = spec.AddStorage(64, 64);
  const uint32_t kept = spec.AddTensor(window, {12});
  const uint32_t newest = spec.AddTensor(window, {4}, 48);
  const uint32_t whole = spec.AddTensor(window, {16});
  const uint32_t next = spec.AddTensor(window, {12}, 16);
  const uint32_t out = spec.AddBuffer(128, 16);
  spec.AddOp({in}, {newest});
  spec.AddOp({whole}, {out});
  spec.AddInput(in);
  spec.AddOutput(out);
  spec.states.push_back({kept, next, -1});
  return spec;
}

TEST_CASE("CheckPlan, state: what is kept may be the beginning of what an op reads") {
  CHECK(Check(WithWindow()) == "");
  PlanSpec spec = WithWindow();
  spec.sections.push_back({std::vector<uint8_t>(64, 1), 64});
  spec.storages.push_back({0, 48, true, 0});
  spec.states[0].initial = 3;
  CHECK(Check(spec) == "");
  spec.storages[3].bytes = 64;
  CHECK(Says(spec, "a first value that does not fit"));
}

TEST_CASE("CheckPlan, state: no op writes the beginning of a window") {
  PlanSpec spec = WithWindow();
  spec.tensors[2].offset = 32;
  CHECK(Says(spec, "which nothing else may write"));
}

TEST_CASE("CheckPlan, state: the end of a window has been written") {
  PlanSpec spec = WithWindow();
  spec.ops[0].outputs[0] = static_cast<int32_t>(spec.AddBuffer(256, 4));
  CHECK(Says(spec, "before all of it is written"));
}

}  // namespace
}  // namespace tenon::test
