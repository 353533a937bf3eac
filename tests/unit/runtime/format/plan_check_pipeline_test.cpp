// Programs whose stages work on successive inputs at the same time.
#include "tests/unit/runtime/format/plan_check_samples.hpp"

using namespace tenon;        // NOLINT
using namespace tenon::test;  // NOLINT

TEST_CASE("CheckPlan: channels and rings are for pipelines") {
  PlanSpec spec = Pipeline();
  spec.mode = 0;
  CHECK(Says(spec, "channels in a program that is no pipeline"));
  spec = Chain();
  spec.arenas[0].slots = 2;
  CHECK(Says(spec, "arena 0 has several slots, but no channel"));
  spec.arenas[0].slots = 0;
  CHECK(Says(spec, "arena 0: memory space, size, alignment or slots"));
  spec.arenas[0] = {uint64_t{1} << 61, 64, 0, 3};
  CHECK(Says(spec, "arena 0: memory space, size, alignment or slots"));
}

TEST_CASE("CheckPlan: the stages of a pipeline are its first workers") {
  PlanSpec spec = Pipeline();
  std::swap(spec.stages[0], spec.stages[1]);
  CHECK(Says(spec, "the stages of a pipeline are its first workers in order"));
  spec = Pipeline();
  spec.workers.emplace_back();
  CHECK(Says(spec, "worker 3 begins with no op, and so is of no stage"));
  spec.stages.push_back(3);  // a stage without steps does no harm
  CHECK(Check(spec) == "");
  spec = Pipeline();
  spec.segments[1].stage = 2;
  CHECK_FALSE(Check(spec).empty());
}

TEST_CASE("CheckPlan: the stages of a pipeline wait through channels only") {
  PlanSpec spec = Pipeline();
  spec.workers[1][0].waits = {{0, 0}};
  CHECK(Says(spec, "step 0 of stage 1 waits for another"));
  spec = HelpedPipeline();
  spec.workers[3][1].waits = {{1, 0}, {0, 0}};
  CHECK(Says(spec, "step 1 of stage 1 waits for another"));
  spec = HelpedPipeline();
  spec.workers[2][0].waits = {{3, 0}};
  CHECK(Says(spec, "step 0 of stage 2 waits for another"));
}

TEST_CASE("CheckPlan: the workers of a stage wait for each other") {
  CHECK(Check(HelpedPipeline()) == "");
  PlanSpec spec = HelpedPipeline();
  spec.workers[1][0].waits.clear();
  CHECK(Says(spec, "before all of it is written"));
  spec = HelpedPipeline();
  spec.workers[1][1].waits = {{3, 0}};  // too early a copy
  CHECK(Says(spec, "before all of it is written"));
  spec = HelpedPipeline();
  spec.workers[3][1].waits.clear();  // the second copy over the first
  CHECK(Says(spec, "is alive on the same bytes"));
  spec = HelpedPipeline();
  spec.workers[3][0].waits = {{1, 1}};
  CHECK(Says(spec, "waits forever"));
}

TEST_CASE("CheckPlan: a worker beyond the stages helps one of them") {
  PlanSpec spec = HelpedPipeline();
  spec.segments.push_back({{6}, 0, 0, {}, {}});  // its second op in another stage's segment
  spec.segments[3].ops = {5};
  CHECK(Says(spec, "op 6 is not run by the stage of its segment"));
  spec = HelpedPipeline();
  std::swap(spec.workers[1], spec.workers[3]);  // which of them comes first is not fixed
  std::swap(spec.segments[1], spec.segments[3]);
  spec.channels[1].to = spec.channels[2].from = 3;
  for (std::vector<StepSpec>& steps : spec.workers) {
    for (StepSpec& step : steps) {
      for (WaitInfo& wait : step.waits) wait.worker = wait.worker == 1 ? 3 : 1;
    }
  }
  CHECK(Check(spec) == "");
}

TEST_CASE("CheckPlan: a stage has done an input when all its workers have") {
  CHECK(Check(HelperHandsOn()) == "");
  PlanSpec spec = HelperHandsOn();
  spec.ops[7].inputs.push_back(spec.ops[2].inputs[0]);  // it too begins after the first stage
  CHECK(Check(spec) == "");
  spec.channels.erase(spec.channels.begin(), spec.channels.begin() + 2);
  CHECK_FALSE(Check(spec).empty());
}

TEST_CASE("CheckPlan: channels lead to later stages") {
  PlanSpec spec = Pipeline();
  spec.channels[2] = {2, 1, {4}, 1, 5};
  CHECK(Says(spec, "channel 2 does not lead to a later stage"));
  spec.channels[2] = {1, 1, {4}, 1, 5};
  CHECK(Says(spec, "channel 2 does not lead to a later stage"));
  spec.channels[2] = {1, 3, {4}, 1, 5};
  CHECK(Says(spec, "channel 2 does not lead to a later stage"));
}

TEST_CASE("CheckPlan: a channel has an arena of its own with as many slots as it is deep") {
  PlanSpec spec = Pipeline();
  const std::string words = "channel 0: its arena is another's too, or has not its slots";
  spec.channels[0].depth = 3;
  CHECK(Says(spec, words));
  spec.channels[0] = {0, 2, {1}, 0, 3};
  CHECK(Says(spec, words));
  spec.channels[0] = {0, 2, {1}, 2, 6};
  CHECK(Says(spec, words));
  spec = Pipeline();
  spec.channels[1] = {0, 1, {1}, 2, 3};
  CHECK(Says(spec, "channel 1: its arena is another's too"));
  spec = Pipeline();
  spec.channels[0].tensors = {2};
  CHECK(Says(spec, "channel 0 hands over tensor 2, which is not in its arena"));
  spec.channels[0].tensors = {99};
  CHECK(Says(spec, "channel 0 hands over tensor 99"));
}

TEST_CASE("CheckPlan: what two stages use is in a channel") {
  PlanSpec spec = Pipeline();
  spec.channels.erase(spec.channels.begin());  // the one past the middle
  spec.arenas[3].slots = 1;
  CHECK(Says(spec, "is used by stages 0 and 2, but in no channel"));
  spec = Pipeline();
  spec.storages[3].index = 0;  // of the first stage, next to its own
  spec.storages[3].offset = 512;
  CHECK(Says(spec, "is used by stages 0 and 1, but in no channel"));
  spec = Pipeline();  // an input that two stages read
  spec.ops[4].inputs.push_back(0);
  CHECK(Says(spec, "is used by stages 2 and 0, but in no channel"));
}

TEST_CASE("CheckPlan: a channel is written by its first stage and read up to its last") {
  PlanSpec spec = Pipeline();
  spec.ops[4].inputs.push_back(2);  // the third stage reads what leads to the second
  CHECK(Says(spec, "is used by stage 2, which its channel does not join"));
  spec = Pipeline();
  spec.ops[2].inputs.push_back(1);  // the second reads what leads past it
  CHECK(Check(spec) == "");
  spec = Pipeline();  // the second writes there
  spec.storages[3] = {64, 64, false, 3};
  CHECK(Says(spec, "is used by stage 1, which its channel does not join"));
  spec = Pipeline();
  spec.outputs[0].tensor = 1;
  CHECK(Says(spec, "an input or output in the arena of a channel"));
}

TEST_CASE("CheckPlan: stages without a channel between them are in no order") {
  // Stage 1 reads what stage 0 has left in a ring that leads from 0 to 2, past it: allowed. Without
  // any ring from 0, it may run first.
  PlanSpec spec = Pipeline();
  spec.channels.erase(spec.channels.begin(), spec.channels.begin() + 2);
  spec.arenas[3].slots = 1;
  spec.arenas[4].slots = 1;
  CHECK(Says(spec, "before all of it is written"));
}

TEST_CASE("CheckPlan: within a slot memory is handed on by the first stage only") {
  PlanSpec spec = Pipeline();
  // A value that the first stage makes and uses in the ring, before it fills the place for others.
  const uint32_t early = spec.AddBuffer(0, 16);
  spec.storages.back().index = 3;
  const uint32_t own = spec.AddBuffer(128, 16);
  spec.AddOp({0}, {early}, 0, {}, 0);
  spec.AddOp({early}, {own}, 0, {}, 0);
  auto& steps = spec.workers[0];
  std::rotate(steps.begin(), steps.end() - 2, steps.end());
  CHECK(Check(spec) == "");
  // The other way round it is still to be read.
  std::rotate(steps.begin(), steps.begin() + 2, steps.end());
  CHECK(Says(spec, "is alive on the same bytes"));
}

TEST_CASE("CheckPlan: devices in a pipeline hand over what their stage does not keep") {
  PlanSpec spec = Pipeline();
  spec.backends = {"cpu", "npu"};
  spec.kernels = {"cpu.unary.generic", "npu.unary.generic"};
  spec.segments[1].backend = 1;
  spec.ops[2].kernel = 1;
  spec.ops[3].kernel = 1;
  CHECK(Says(spec, "segment 1 reads bytes of tensor 2, which it does not take over"));
  spec.segments[1].reads = {2};
  CHECK(Says(spec, "segment 1 writes tensor 4 for others"));
  spec.segments[1].writes = {4};
  CHECK(Check(spec) == "");
}
