// Segments of devices: their shape, what they exchange, and the CPU's form of their ops.
#include "tests/unit/runtime/format/plan_check_samples.hpp"

using namespace tenon;        // NOLINT
using namespace tenon::test;  // NOLINT

namespace {

/// WithDevice() with a further op of the device at the end, in a segment of its own that reads what
/// the CPU makes last and what the device has made first.
PlanSpec TwoDeviceSegments(bool fallback = false) {
  PlanSpec spec = fallback ? WithFallback() : WithDevice();
  const uint32_t last = spec.AddBuffer(320, 16);
  spec.AddOp({4, 2}, {last}, 1, {{0, 1}}, 3);
  spec.ops[4].kernel = 1;
  if (fallback) spec.ops[4].fallback_kernel = 0;
  spec.segments[3] = {{4}, 1, 0, {4}, {last}};
  if (fallback) spec.segments[1].writes = {2, 3};
  spec.outputs[0].tensor = last;
  return spec;
}

}  // namespace

TEST_CASE("CheckPlan: a device's segment is consecutive steps of one worker") {
  PlanSpec spec = WithDevice();
  std::swap(spec.segments[1].ops[0], spec.segments[1].ops[1]);
  CHECK(Says(spec, "segment 1: its ops are not consecutive steps"));
  spec = TwoDeviceSegments();  // the first segment with the last op, the second one with the middle
  spec.segments[1].ops = {1, 4};
  spec.segments[3].ops = {2};
  CHECK_FALSE(Check(spec).empty());
  spec = WithDevice();
  spec.workers[0].insert(spec.workers[0].begin() + 1, {1, {}});
  spec.workers[1] = {{2, {{0, 1}}}};
  spec.workers[0][2].waits = {{1, 0}};
  CHECK(Says(spec, "segment 1: its ops are not consecutive steps"));
}

TEST_CASE("CheckPlan: only the first step of a device's segment waits") {
  PlanSpec spec = WithDevice();
  spec.workers[1][1].waits = {{0, 0}};
  CHECK(Says(spec, "of which only the first waits"));
  spec = ForkAndJoin();  // the CPU's segments may
  CHECK(Check(spec) == "");
}

TEST_CASE("CheckPlan: a worker serves one device, beside the CPU") {
  PlanSpec spec = WithDevice();
  spec.backends.emplace_back("gpu");
  spec.kernels.emplace_back("gpu.unary.generic");
  spec.AddOp({4}, {spec.AddBuffer(320, 16)}, 0, {}, 3);
  spec.ops[4].kernel = 2;
  spec.segments[3] = {{4}, 2, 0, {4}, {}};
  CHECK(Check(spec) == "");  // the CPU's own worker; nobody reads what it makes
  spec.workers[0].pop_back();
  spec.workers[1].push_back({4, {{0, 1}}});
  CHECK(Says(spec, "worker 1 has segments of two devices"));
}

TEST_CASE("CheckPlan: on one worker too, what the CPU and a device exchange is listed") {
  PlanSpec spec = WithDevice();
  spec.workers = {{{0, {}}, {1, {}}, {2, {}}, {3, {}}}};
  CHECK(Check(spec) == "");
  spec.segments[1].reads = {};
  CHECK(Says(spec, "segment 1 reads bytes of tensor 1, which it does not take over"));
}

TEST_CASE("CheckPlan: what a device reads of others is taken over") {
  PlanSpec spec = WithDevice();
  spec.segments[1].reads = {};
  CHECK(Says(spec, "segment 1 reads bytes of tensor 1, which it does not take over"));
  spec = WithDevice();  // an input of the program
  spec.ops[1].inputs.push_back(0);
  CHECK(Says(spec, "segment 1 reads bytes of tensor 0"));
  spec.segments[1].reads = {1, 0};
  CHECK(Check(spec) == "");
}

TEST_CASE("CheckPlan: what a device has taken over once, it has") {
  PlanSpec spec = TwoDeviceSegments();
  spec.ops[4].inputs.push_back(1);
  CHECK(Check(spec) == "");
  spec.segments[3].reads = {4, 1};
  CHECK(Check(spec) == "");
}

TEST_CASE("CheckPlan: a device takes over what others have written by then, and it reads") {
  const auto takes = [](uint32_t tensor) {
    PlanSpec spec = TwoDeviceSegments();
    spec.segments[1].reads.push_back(tensor);
    return spec;
  };
  CHECK(Says(takes(2), "takes tensor 2 over, which nobody writes for it"));  // its own
  CHECK(Says(takes(0), "takes tensor 0 over, which nobody writes for it"));  // read by others only
  CHECK(Says(takes(4), "takes tensor 4 over, which nobody writes for it"));  // written later
  PlanSpec spec = WithDevice();
  spec.segments[1].reads = {spec.AddTensor(1, {4})};  // not as it is written
  CHECK(Says(spec, "takes tensor 5 over, which nobody writes for it"));
  spec.segments[1].reads = {99};
  CHECK(Says(spec, "exchanges tensor 99, which is in no arena"));
}

TEST_CASE("CheckPlan: parts of a storage are taken over one by one") {
  // The CPU writes the left column, the device the right one and reads both.
  PlanSpec spec = WithDevice();
  const uint32_t joined = spec.AddStorage(320, 128);
  const uint32_t left = spec.AddTensor(joined, {4, 4}, 0, {8, 1});
  const uint32_t right = spec.AddTensor(joined, {4, 4}, 16, {8, 1});
  const uint32_t all = spec.AddTensor(joined, {4, 8});
  spec.ops[0].outputs.push_back(static_cast<int32_t>(left));
  spec.ops[1].outputs.push_back(static_cast<int32_t>(right));
  spec.ops[2].inputs.push_back(static_cast<int32_t>(all));
  CHECK(Says(spec, "reads bytes of tensor 5, which it does not take over"));
  spec.segments[1].reads = {1, all};
  CHECK(Says(spec, "takes tensor 7 over, which nobody writes for it"));
  spec.segments[1].reads = {1, left};
  CHECK(Check(spec) == "");
  spec.ops[3].inputs.push_back(static_cast<int32_t>(all));  // and so does the CPU
  CHECK(Says(spec, "writes tensor 6 for others, but does not hand it over"));
  spec.segments[1].writes = {right, 3};
  CHECK(Check(spec) == "");
}

TEST_CASE("CheckPlan: what others read of a device is handed over in order") {
  PlanSpec spec = WithDevice();
  spec.segments[1].writes = {};
  CHECK(Says(spec, "segment 1 writes tensor 3 for others, but does not hand it over"));
  spec.segments[1].writes = {2, 3};  // more than need be
  CHECK(Check(spec) == "");
  spec.segments[1].writes = {3, 2};
  CHECK(Says(spec, "segment 1 hands tensor 2 over, which it does not write, or not in this order"));
  spec.segments[1].writes = {3, 1};
  CHECK(Says(spec, "segment 1 hands tensor 1 over"));
  spec = WithDevice();  // an output of the program
  spec.AddOutput(2);
  CHECK(Says(spec, "segment 1 writes tensor 2 for others"));
}

TEST_CASE("CheckPlan: a worker of the same device is another queue") {
  PlanSpec spec = WithDevice();
  spec.workers = {{{0, {}}, {3, {{2, 0}}}}, {{1, {{0, 0}}}}, {{2, {{1, 0}}}}};
  spec.segments = {{{0}}, {{1}, 1, 0, {1}, {}}, {{3}}, {{2}, 1, 0, {}, {3}}};
  CHECK(Says(spec, "segment 1 writes tensor 2 for others"));
  spec.segments[1].writes = {2};
  CHECK(Says(spec, "segment 3 reads bytes of tensor 2"));
  spec.segments[3].reads = {2};
  CHECK(Check(spec) == "");
}

TEST_CASE("CheckPlan: what a device uses shares bytes with nothing that is alive elsewhere") {
  // The CPU makes 64 bytes, of whose second half nobody has any need; the first device segment
  // makes 32 there. The last one reads those and the first half.
  const auto make = [](uint64_t begin) {
    PlanSpec spec = TwoDeviceSegments();
    spec.arenas[0].bytes = 1024;
    const uint32_t made = spec.AddStorage(512, 64);
    const auto all = static_cast<int32_t>(spec.AddTensor(made, {16}));
    const auto half = static_cast<int32_t>(spec.AddTensor(made, {8}));
    const auto inner = static_cast<int32_t>(spec.AddBuffer(begin, 8));
    spec.ops[0].outputs.push_back(all);
    spec.ops[1].outputs.push_back(inner);
    spec.ops[4].inputs.push_back(half);
    spec.ops[4].inputs.push_back(inner);
    spec.segments[3].reads.push_back(static_cast<uint32_t>(all));
    return spec;
  };
  CHECK(Check(make(576)) == "");
  CHECK(Says(make(544), "is alive on the same bytes"));  // carrying all of it over would cover them
}

TEST_CASE("CheckPlan: memory is not handed on before a device's work on it is waited for") {
  PlanSpec spec = WithDevice();
  // The CPU writes over what the device reads, after its own order only.
  spec.workers[0].insert(spec.workers[0].begin() + 1, {4, {}});
  spec.ops.push_back(spec.ops[0]);
  spec.ops[4].outputs = {static_cast<int32_t>(spec.AddBuffer(64, 16))};
  spec.segments[0].ops.push_back(4);
  CHECK(Says(spec, "is alive on the same bytes"));
  spec.workers[0][1].waits = {{1, 0}};
  CHECK(Check(spec) == "");
}

TEST_CASE("CheckPlan: fall-back kernels are the CPU's, for all ops of a device's segment") {
  PlanSpec spec = WithFallback();
  spec.ops[1].fallback_kernel = 2;
  CHECK(Says(spec, "op 1: no such kernel"));
  spec.ops[1].fallback_kernel = -2;
  CHECK(Says(spec, "op 1: no such kernel"));
  spec.ops[1].fallback_kernel = 1;
  CHECK(Says(spec, "op 1: its fall-back kernel is not the CPU's"));
  spec.ops[1].fallback_kernel = -1;
  CHECK(Says(spec, "segment 1: a fall-back kernel for some of its ops only"));
  spec = WithFallback();
  spec.ops[0].fallback_kernel = 0;
  CHECK(Says(spec, "segment 0: a fall-back kernel for some of its ops only, or for the CPU"));
}

TEST_CASE("CheckPlan: with fall-back kernels, segments hand over to each other on one device too") {
  PlanSpec spec = TwoDeviceSegments(true);
  CHECK(Check(spec) == "");
  spec.segments[1].writes = {3};
  CHECK(Says(spec, "segment 1 writes tensor 2 for others"));
}

TEST_CASE("CheckPlan: what a segment reads stays until its end, if it may be run again") {
  const auto overwrite = [](bool fallback, uint32_t target) {
    PlanSpec spec = fallback ? WithFallback() : WithDevice();
    spec.storages[3].offset = spec.storages[target].offset;  // the second op's output
    return Check(spec);
  };
  CHECK(overwrite(false, 1) == "");
  CHECK(overwrite(true, 1).find("is alive on the same bytes") != std::string::npos);
  // What it has made itself may go.
  PlanSpec spec = WithFallback();
  const uint32_t more = spec.AddBuffer(128, 16);  // over tensor 2
  spec.ops[2].outputs = {3};
  spec.AddOp({3}, {more}, 1, {}, 1);
  spec.ops[4].kernel = 1;
  spec.ops[4].fallback_kernel = 0;
  spec.workers[0][1].waits = {{1, 1}};
  CHECK(Check(spec) == "");
}

TEST_CASE("CheckPlan: a segment that may be run again takes no memory over but its own") {
  const auto in_place = [](bool fallback, uint32_t op) {
    PlanSpec spec = fallback ? WithFallback() : WithDevice();
    spec.storages[op + 1].offset = spec.storages[op].offset;
    spec.ops[op].in_place = 0;
    return Check(spec);
  };
  CHECK(in_place(false, 1) == "");
  CHECK(in_place(true, 1).find("is alive on the same bytes") != std::string::npos);
  CHECK(in_place(true, 2) == "");
  // Even the last op of a segment.
  PlanSpec spec = WithFallback();
  spec.workers[1] = {{1, {{0, 0}}}};
  spec.ops.erase(spec.ops.begin() + 2);
  spec.workers[0] = {{0, {}}, {2, {{1, 0}}}};
  spec.ops[2].inputs = {2};
  spec.segments = {{{0}}, {{1}, 1, 0, {1}, {2}}, {{2}}};
  CHECK(Check(spec) == "");
  spec.storages[2].offset = spec.storages[1].offset;
  spec.ops[1].in_place = 0;
  CHECK(Says(spec, "is alive on the same bytes"));
}

TEST_CASE("CheckPlan: workspaces of fall-back kernels are alive in the whole segment") {
  const auto with_workspace = [](uint64_t offset) {
    PlanSpec spec = WithFallback();
    const uint32_t storage = spec.AddStorage(offset, 64);
    const uint32_t workspace = spec.AddTensor(storage, {64}, 0, {}, DType::kU8);
    spec.ops[2].fallback_workspace = static_cast<int32_t>(workspace);
    return spec;
  };
  PlanSpec spec = with_workspace(320);
  CHECK(Check(spec) == "");
  spec.ops[1].fallback_workspace = spec.ops[2].fallback_workspace;  // one for all
  CHECK(Check(spec) == "");
  CHECK(Check(with_workspace(0)) == "");    // the program's input is done with
  CHECK(Check(with_workspace(256)) == "");  // its output is not there yet
  // What is there when the segment starts, and what it makes.
  CHECK(Says(with_workspace(64), "on the same bytes"));
  CHECK(Says(with_workspace(128), "on the same bytes"));
  CHECK(Says(with_workspace(192), "on the same bytes"));
}

TEST_CASE("CheckPlan: a fall-back workspace is bytes, of a fall-back kernel, and nobody else's") {
  PlanSpec spec = WithFallback();
  const uint32_t storage = spec.AddStorage(320, 64);
  const uint32_t workspace = spec.AddTensor(storage, {64}, 0, {}, DType::kU8);
  spec.ops[1].fallback_workspace = static_cast<int32_t>(workspace);
  spec.ops[2].workspace = static_cast<int32_t>(workspace);
  CHECK(Says(spec, "shares bytes of the fall-back workspace in storage 5"));
  spec.ops[2].workspace = -1;
  spec.ops[2].inputs.push_back(static_cast<int32_t>(workspace));
  CHECK(Says(spec, "shares bytes of the fall-back workspace in storage 5"));
  spec.ops[2].inputs.pop_back();
  spec.ops[1].fallback_workspace = 4;
  CHECK(Says(spec, "its workspace is in no arena, or not of bytes"));
  spec.ops[1].fallback_workspace = 99;
  CHECK(Says(spec, "op 1: operand out of range"));
  spec = WithDevice();
  spec.ops[0].fallback_workspace = 0;
  CHECK(Says(spec, "op 0: a fall-back workspace without a kernel"));
}

TEST_CASE("CheckPlan: the elements of a fall-back workspace are as many bytes") {
  const auto with_workspace = [](const std::vector<int32_t>& dims,
                                 const std::vector<int32_t>& strides) {
    PlanSpec spec = WithFallback();
    const uint32_t storage = spec.AddStorage(320, 64);
    const uint32_t workspace = spec.AddTensor(storage, dims, 0, strides, DType::kU8);
    spec.ops[2].fallback_workspace = static_cast<int32_t>(workspace);
    return spec;
  };
  CHECK(Check(with_workspace({64}, {1})) == "");
  CHECK(Says(with_workspace({4096}, {0}), "shares bytes of the fall-back workspace"));
  CHECK(Says(with_workspace({40, 25}, {1, 1}), "shares bytes of the fall-back workspace"));
  // Beside one of another op that is sound.
  PlanSpec spec = with_workspace({64}, {1});
  spec.ops[1].fallback_workspace =
      static_cast<int32_t>(spec.AddTensor(5, {4096}, 0, {0}, DType::kU8));
  CHECK(Says(spec, "shares bytes of the fall-back workspace"));
}

TEST_CASE("CheckPlan: a fall-back workspace is not what its op writes too") {
  PlanSpec spec = WithFallback();
  const uint32_t storage = spec.AddStorage(320, 64);
  const uint32_t bytes = spec.AddTensor(storage, {64}, 0, {}, DType::kU8);
  spec.ops[2].fallback_workspace = static_cast<int32_t>(bytes);
  CHECK(Check(spec) == "");
  spec.ops[2].outputs.push_back(static_cast<int32_t>(bytes));
  CHECK(Says(spec, "shares bytes of the fall-back workspace in storage 5"));
  spec.ops[2].outputs.pop_back();
  spec.ops[2].workspace = static_cast<int32_t>(bytes);
  CHECK(Says(spec, "shares bytes of the fall-back workspace in storage 5"));
}

TEST_CASE("CheckPlan: a device's op has no condition, and none of the CPU's comes from a device") {
  PlanSpec spec = WithDevice();
  const uint32_t given = spec.AddTensor(spec.AddStorage(512, 1), {1}, 0, {}, DType::kBool);
  spec.AddInput(given);
  spec.ops[1].condition = {static_cast<int32_t>(given), true};
  CHECK(Says(spec, "op 1 has a condition, but is not the CPU's"));
  spec.ops[1].condition = {};
  CHECK(Check(spec) == "");
  // The last op of the CPU's runs where the device says so, and a select takes what it makes.
  const auto made =
      static_cast<int32_t>(spec.AddTensor(spec.AddStorage(576, 1), {1}, 0, {}, DType::kBool));
  spec.ops[2].outputs.push_back(made);
  spec.segments[1].writes.push_back(static_cast<uint32_t>(made));
  const uint32_t chosen = spec.AddBuffer(640, 16);
  spec.AddOp({static_cast<uint32_t>(made), 4, 0}, {chosen}, 0, {}, 2);
  spec.ops[4].kind = static_cast<uint16_t>(OpKind::kSelect);
  spec.outputs[0].tensor = chosen;
  CHECK(Check(spec) == "");
  spec.ops[3].condition = {made, true};
  CHECK(Says(spec, "its condition, tensor 6, is a device's"));
}
