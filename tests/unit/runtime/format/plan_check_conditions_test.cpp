// The plan check: ops that are passed over in some runs, and who may read what they write.
#include "tests/unit/runtime/format/plan_check_samples.hpp"

namespace tenon::test {
namespace {

using namespace branch;  // NOLINT

constexpr char kNotMet[] = "is read in runs in which the condition of what writes it is not met";
constexpr char kInNoArena[] = "op 0: condition out of range, or in no arena";
constexpr char kNoBool[] = "its condition is not one bool";

TEST_CASE("CheckPlan, conditions: a select by it takes what is there, or its other operand") {
  PlanSpec spec = Branch();
  CHECK(Check(spec) == "");
  spec.ops[0].condition.runs_if = spec.ops[1].condition.runs_if = false;
  CHECK(Says(spec, kNotMet));
  spec.ops[2].inputs = {kCondition, kX, kB};
  CHECK(Check(spec) == "");
}

TEST_CASE("CheckPlan, conditions: nothing else reads what an op that is passed over would write") {
  PlanSpec spec = Branch();
  SUBCASE("an op that always runs") { spec.ops[1].condition = {}; }
  SUBCASE("an op that runs where it does not") { spec.ops[1].condition.runs_if = false; }
  SUBCASE("an op with a condition of its own") { spec.ops[1].condition.tensor = kOther; }
  SUBCASE("a select by another bool") { spec.ops[2].inputs[0] = kOther; }
  SUBCASE("a select that takes it in all runs") { spec.ops[2].inputs[2] = kB; }
  SUBCASE("an op of three inputs that is no select") { spec.ops[2].kind = 4; }
  SUBCASE("the caller") { spec.outputs[0].tensor = kA; }
  SUBCASE("a state") { spec.states.push_back({spec.AddBuffer(512, 16), kA, -1}); }
  CHECK(Says(spec, kNotMet));
}

TEST_CASE("CheckPlan, conditions: parts of one tensor have one condition, or it is not read") {
  PlanSpec spec = Columns();
  const uint32_t condition = spec.AddTensor(spec.AddStorage(1024, 1), {1}, 0, {}, DType::kBool);
  const uint32_t other = spec.AddTensor(spec.AddStorage(1088, 1), {1}, 0, {}, DType::kBool);
  const uint32_t y = spec.AddBuffer(1152, 32);
  const auto of_all = static_cast<uint32_t>(spec.ops[2].outputs[0]);
  spec.AddOp({condition, of_all, of_all}, {y});
  spec.ops[3].kind = static_cast<uint16_t>(OpKind::kSelect);
  spec.ops[3].inputs[2] =
      static_cast<int32_t>(spec.AddTensor(spec.AddStorage(1280, 128), {32}));  // an input
  spec.AddInput(condition);
  spec.AddInput(other);
  spec.AddInput(static_cast<uint32_t>(spec.ops[3].inputs[2]));
  spec.outputs[0].tensor = y;
  for (size_t i = 0; i < 3; ++i) spec.ops[i].condition = {static_cast<int32_t>(condition), true};
  CHECK(Check(spec) == "");
  spec.ops[0].condition = {};  // one part is always there: the other is not
  CHECK(Check(spec) == "");
  spec.ops[0].condition = {static_cast<int32_t>(other), true};
  CHECK(Says(spec, kNotMet));
}

TEST_CASE("CheckPlan, conditions: it is one bool in an arena") {
  PlanSpec spec = Branch();
  SUBCASE("of bytes") { spec.tensors[kCondition].dtype = static_cast<uint8_t>(DType::kU8); }
  SUBCASE("of two") {
    spec.storages[1].bytes = 2;
    spec.tensors[kCondition].dims = {2};
  }
  SUBCASE("of none") { spec.tensors[kCondition].dims = {0}; }
  CHECK(Says(spec, kNoBool));
}

TEST_CASE("CheckPlan, conditions: it is a tensor in an arena, or -1") {
  PlanSpec spec = Branch();
  for (const int32_t tensor : {6, 1000, INT32_MAX, -2, INT32_MIN}) {
    spec.ops[0].condition.tensor = tensor;
    CHECK(Says(spec, kInNoArena));
  }
  spec = Branch();
  spec.sections.push_back({std::vector<uint8_t>(64)});
  spec.storages[1] = {0, 1, true};  // a constant
  spec.inputs.erase(spec.inputs.begin() + 1);
  CHECK(Says(spec, kInNoArena));
}

TEST_CASE("CheckPlan, conditions: it is there before the op, and nothing lies on it until then") {
  PlanSpec spec = Branch();
  spec.inputs.erase(spec.inputs.begin() + 1);
  spec.AddOp({kOther}, {kCondition});  // the last step
  CHECK(Says(spec, "reads tensor 1 before all of it is written"));
  spec.workers[0] = {{3, {}}, {0, {}}, {1, {}}, {2, {}}};
  CHECK(Check(spec) == "");
  spec.storages[spec.tensors[kA].storage].offset = 64;
  CHECK(Says(spec, "is written while"));
}

TEST_CASE("CheckPlan, conditions: an op that is passed over writes none") {
  PlanSpec spec = Branch();
  spec.inputs.erase(spec.inputs.begin() + 1);
  spec.AddOp({kOther}, {kCondition});
  spec.workers[0] = {{3, {}}, {0, {}}, {1, {}}, {2, {}}};
  spec.ops[3].condition = {kOther, true};
  CHECK(Says(spec, kNotMet));
}

TEST_CASE("CheckPlan, conditions: not even one that a select takes where it is written") {
  PlanSpec spec = Branch();
  spec.ops[0].condition = spec.ops[1].condition = {};
  spec.inputs.erase(spec.inputs.begin() + 1);
  spec.AddOp({kOther}, {kCondition});
  spec.ops[3].condition = {kOther, true};
  spec.ops[2].inputs[0] = kOther;
  const uint32_t chosen = spec.AddTensor(spec.AddStorage(512, 1), {1}, 0, {}, DType::kBool);
  spec.AddOp({kOther, kCondition, kOther}, {chosen});
  spec.ops[4].kind = static_cast<uint16_t>(OpKind::kSelect);
  spec.workers[0] = {{3, {}}, {4, {}}, {0, {}}, {1, {}}, {2, {}}};
  CHECK(Check(spec) == "");
  spec.ops[4].condition = {kCondition, true};  // which it reads in every run
  CHECK(Says(spec, kNotMet));
}

TEST_CASE("CheckPlan, conditions: rows of an input are read in every run") {
  PlanSpec spec = Branch();
  spec.spaces.emplace_back("rows:in");
  spec.arenas.push_back({64, 4, 1, 1, ArenaUse::kRows});
  spec.storages[0] = {0, 64};
  spec.storages[0].index = 1;
  spec.ops[0].kind = static_cast<uint16_t>(OpKind::kCopy);
  spec.ops[2].inputs[2] = static_cast<int32_t>(spec.AddBuffer(512, 16));
  spec.AddInput(static_cast<uint32_t>(spec.ops[2].inputs[2]));
  CHECK(Says(spec, "rows in arena 1 are not read in order, each once"));
  spec.ops[0].condition = {};
  CHECK(Check(spec) == "");
}

}  // namespace
}  // namespace tenon::test
