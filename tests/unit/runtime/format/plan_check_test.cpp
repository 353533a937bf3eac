#include "runtime/format/plan_check.hpp"

#include <doctest/doctest.h>

#include <string>

#include "runtime/ops/op_kind.hpp"
#include "tests/unit/runtime/format/plan_fixture.hpp"

using namespace tenon;        // NOLINT
using namespace tenon::test;  // NOLINT

namespace {

bool Says(const PlanSpec& spec, const std::string& words) {
  const std::string text = Check(spec);
  CAPTURE(text);
  const bool said = text.find(words) != std::string::npos;
  if (!said) MESSAGE("expected '" << words << "', got '" << text << "'");
  return said;
}

/// Two workers: 0 computes left, 1 computes right, 0 joins them after waiting.
PlanSpec ForkAndJoin() {
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
PlanSpec Columns() {
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
PlanSpec InPlace() {
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
PlanSpec WithConstant() {
  PlanSpec spec = Chain();
  spec.sections.push_back({std::vector<uint8_t>(64, 1), 64});
  spec.storages.push_back({0, 64, true, 0});
  spec.ops[1].inputs.push_back(static_cast<int32_t>(spec.AddTensor(3, {16})));
  return spec;
}

/// op0 in segment 0 and op1 in segment 1, with a channel between them.
PlanSpec TwoSegments() {
  PlanSpec spec = Chain();
  spec.segments = {{{0}}, {{1}}};
  spec.channels = {{0, 1, {1}, 2}};
  return spec;
}

}  // namespace

TEST_CASE("CheckPlan: good plans pass") {
  CHECK(Check(Chain()) == "");
  CHECK(Check(ForkAndJoin()) == "");
  CHECK(Check(Columns()) == "");
  CHECK(Check(InPlace()) == "");
  CHECK(Check(WithConstant()) == "");
  CHECK(Check(TwoSegments()) == "");
}

TEST_CASE("CheckPlan: a plan without ops that hands an input through passes") {
  PlanSpec spec;
  const uint32_t tensor = spec.AddBuffer(0, 4);
  spec.AddInput(tensor);
  spec.AddOutput(tensor);
  CHECK(Check(spec) == "");
}

TEST_CASE("CheckPlan: memory is used again once its last reader is done") {
  PlanSpec spec = Chain();
  spec.storages[2].offset = 0;  // out over in
  CHECK(Check(spec) == "");
}

TEST_CASE("CheckPlan: slices of a tensor are read where they lie") {
  PlanSpec spec = Chain();
  const uint32_t slice = spec.AddTensor(1, {4, 2}, 8, {4, 1});
  const uint32_t strided = spec.AddTensor(1, {8}, 0, {2});
  const uint32_t repeated = spec.AddTensor(1, {5, 16}, 0, {0, 1});
  const uint32_t out = spec.AddBuffer(192, 16);
  spec.AddOp({slice, strided, repeated}, {out});
  CHECK(Check(spec) == "");
}

TEST_CASE("CheckPlan: a part may be read before the other parts are written") {
  PlanSpec spec = Columns();
  const uint32_t early = spec.AddBuffer(320, 16);
  const uint32_t op = spec.AddOp({1}, {early});
  spec.workers[0] = {{0, {}}, {op, {}}, {1, {}}, {2, {}}};
  CHECK(Check(spec) == "");
}

TEST_CASE("CheckPlan: a read before its write is refused") {
  PlanSpec spec = Chain();
  std::swap(spec.workers[0][0], spec.workers[0][1]);
  CHECK(Says(spec, "op1: reads tensor 1 before all of it is written"));
}

TEST_CASE("CheckPlan: a read of another worker's result without a wait is refused") {
  PlanSpec spec = ForkAndJoin();
  spec.workers[0][1].waits.clear();
  CHECK(Says(spec, "op2: reads tensor 2 before all of it is written"));
}

TEST_CASE("CheckPlan: waits order what comes before them too") {
  PlanSpec spec = ForkAndJoin();
  const uint32_t last = spec.AddBuffer(256, 16);
  spec.AddOp({1}, {last}, 2, {{0, 1}});  // left was done before the step that is awaited
  CHECK(Check(spec) == "");
  const uint32_t more = spec.AddBuffer(320, 16);
  spec.AddOp({2}, {more}, 2);  // right too, since worker 0 had waited for it
  CHECK(Check(spec) == "");
}

TEST_CASE("CheckPlan: an output that nothing writes is refused") {
  PlanSpec spec = Chain();
  spec.AddOutput(spec.AddBuffer(256, 4));
  CHECK(Says(spec, "main: reads tensor 3 before all of it is written"));
}

TEST_CASE("CheckPlan: a read over the edge of what was written is refused") {
  PlanSpec spec = Columns();
  spec.storages[1].bytes = 160;
  spec.storages[2].offset = 256;
  spec.tensors[3].dims = {5, 8};
  CHECK(Says(spec, "op2: reads tensor 3 before all of it is written"));
}

TEST_CASE("CheckPlan: parts that share elements are refused") {
  PlanSpec spec = Columns();
  spec.tensors[2].offset = 12;
  CHECK(Says(spec, "writes bytes of tensor 2 that op 0 writes"));
}

TEST_CASE("CheckPlan: a missing part is noticed") {
  PlanSpec spec = Columns();
  spec.tensors[2].dims = {4, 3};
  CHECK(Says(spec, "op2: reads tensor 3 before all of it is written"));
}

TEST_CASE("CheckPlan: an output whose elements overlap is refused") {
  PlanSpec spec = Chain();
  spec.tensors[1].dims = {4, 4};
  spec.tensors[1].strides = {1, 1};
  CHECK(Says(spec, "t1: written, but its strides let elements overlap"));
  spec.tensors[1].dims = {2, 8};
  spec.tensors[1].strides = {0, 1};
  CHECK(Says(spec, "t1: written, but its strides let elements overlap"));
}

TEST_CASE("CheckPlan: live storages on the same bytes are refused") {
  PlanSpec spec = Chain();
  spec.storages[2].offset = 64 + 60;  // out's first byte on middle's last element
  CHECK(Says(spec, "storage 2 is written while storage 1 is alive on the same bytes"));
}

TEST_CASE("CheckPlan: an output may not be overwritten by a later op") {
  PlanSpec spec = Chain();
  spec.AddOutput(1);
  spec.AddOp({2}, {spec.AddBuffer(64, 8)});
  CHECK(Says(spec, "storage 3 is written while storage 1 is alive on the same bytes"));
}

TEST_CASE("CheckPlan: two inputs on the same bytes are refused") {
  PlanSpec spec = Chain();
  spec.AddInput(spec.AddBuffer(256, 16));
  CHECK(Check(spec) == "");
  spec.AddInput(spec.AddBuffer(256, 16));  // even if nothing reads them
  CHECK(Says(spec, "storage 4 is written while storage 3 is alive on the same bytes"));
}

TEST_CASE("CheckPlan: a worker may not write over what another one still reads") {
  PlanSpec spec = ForkAndJoin();
  spec.storages[1].offset = 0;  // left over in, which worker 1 reads without order
  CHECK(Says(spec, "storage 1 is written while storage 0 is alive on the same bytes"));
}

TEST_CASE("CheckPlan: working in place on the wrong bytes is refused") {
  const std::string words = "storage 2 is written while storage 1 is alive on the same bytes";
  PlanSpec spec = InPlace();
  spec.ops[1].in_place = -1;
  CHECK(Says(spec, words));

  spec = InPlace();
  spec.storages[2].offset = 68;
  CHECK(Says(spec, words));

  spec = InPlace();  // the same bytes as other elements
  spec.tensors[2].dims = {4, 4};
  spec.tensors[2].strides = {1, 4};
  CHECK(Says(spec, words));
}

TEST_CASE("CheckPlan: an op in place may not read neighbours of what it overwrites") {
  PlanSpec spec = InPlace();
  spec.ops[1].inputs.push_back(1);  // the same elements once more: fine
  CHECK(Check(spec) == "");
  spec.ops[1].inputs.push_back(static_cast<int32_t>(spec.AddTensor(1, {16}, 0, {0})));
  CHECK(Says(spec, "storage 2 is written while storage 1 is alive on the same bytes"));
}

TEST_CASE("CheckPlan: an op in place is the only one to write what it takes over") {
  PlanSpec spec;
  const uint32_t in = spec.AddBuffer(0, 16);
  const uint32_t source = spec.AddStorage(64, 64);
  const uint32_t target = spec.AddStorage(64, 64);
  const uint32_t a = spec.AddTensor(source, {8});
  const uint32_t b = spec.AddTensor(target, {8});
  spec.AddOp({in}, {a});
  spec.AddOp({a}, {b});
  spec.ops[1].in_place = 0;
  spec.AddInput(in);
  spec.AddOutput(b);
  CHECK(Check(spec) == "");
  spec.AddOp({in}, {spec.AddTensor(target, {8}, 32)});
  CHECK(Says(spec, "storage 2 is written while storage 1 is alive on the same bytes"));
}

TEST_CASE("CheckPlan: what an op in place took over may not be read later") {
  PlanSpec spec = InPlace();
  spec.ops[2].inputs.push_back(1);
  CHECK(Says(spec, "storage 2 is written while storage 1 is alive on the same bytes"));
  spec = InPlace();
  spec.AddOutput(1);
  CHECK(Says(spec, "storage 2 is written while storage 1 is alive on the same bytes"));
}

TEST_CASE("CheckPlan: an op in place must wait for the other readers of its input") {
  PlanSpec spec = InPlace();
  const uint32_t other = spec.AddBuffer(256, 16);
  const uint32_t op = spec.AddOp({1}, {other}, 1, {{0, 0}});
  CHECK(Says(spec, "storage 2 is written while storage 1 is alive on the same bytes"));
  spec.workers[0][1].waits = {{1, 0}};
  CHECK(op == 3);
  CHECK(Check(spec) == "");
}

TEST_CASE("CheckPlan: an op that writes the storage of an input is refused") {
  PlanSpec spec = Chain();
  spec.AddOp({2}, {0});
  CHECK(Says(spec, "is on the storage of an input, which nothing else may write"));
}

TEST_CASE("CheckPlan: constants are read, never written") {
  PlanSpec spec = WithConstant();
  spec.ops[0].outputs = {3};
  CHECK(Says(spec, "op 0 writes a constant"));
  spec = WithConstant();
  spec.AddInput(3);
  CHECK(Says(spec, "in: input is a constant"));
}

TEST_CASE("CheckPlan: a workspace belongs to its op alone, while it runs") {
  PlanSpec spec = Chain();
  const uint32_t storage = spec.AddStorage(192, 32);
  spec.ops[0].workspace = static_cast<int32_t>(spec.AddTensor(storage, {32}, 0, {}, DType::kU8));
  CHECK(Check(spec) == "");
  spec.storages[3].offset = 128;  // over out, which is written later
  CHECK(Check(spec) == "");
  spec.storages[3].offset = 0;  // over in, which the op reads
  CHECK(Says(spec, "storage 3 is written while storage 0 is alive on the same bytes"));
  spec.storages[3].offset = 192;
  spec.ops[1].inputs.push_back(3);
  CHECK(Says(spec, "its workspace is used elsewhere too"));
  spec.ops[1].inputs.pop_back();
  spec.tensors[3].dtype = static_cast<uint8_t>(DType::kI8);
  CHECK(Says(spec, "not of bytes"));
}

TEST_CASE("CheckPlan: waits in a circle are refused") {
  PlanSpec spec = ForkAndJoin();
  spec.workers[1][0].waits = {{0, 1}};
  CHECK(Says(spec, "step 1 of worker 0 waits forever"));
  spec = Chain();
  spec.workers[0][0].waits = {{0, 0}};
  CHECK(Says(spec, "step 0 of worker 0 waits forever"));
}

TEST_CASE("CheckPlan: every op runs exactly once") {
  PlanSpec spec = Chain();
  spec.workers[0].pop_back();
  CHECK(Says(spec, "op 1 is in no step"));
  spec = Chain();
  spec.workers[0].push_back({0, {}});
  CHECK(Says(spec, "step 2 of worker 0 has no op, or one that runs twice"));
  spec = Chain();
  spec.workers[0].push_back({2, {}});
  CHECK(Says(spec, "step 2 of worker 0 has no op, or one that runs twice"));
}

TEST_CASE("CheckPlan: waits for steps that do not exist are refused") {
  PlanSpec spec = ForkAndJoin();
  spec.workers[0][1].waits = {{1, 1}};
  CHECK(Says(spec, "waits for a step that is not there"));
  spec.workers[0][1].waits = {{2, 0}};
  CHECK(Says(spec, "waits for a step that is not there"));
}

TEST_CASE("CheckPlan: one to eight workers") {
  PlanSpec spec = Chain();
  spec.workers.resize(8);
  CHECK(Check(spec) == "");
  spec.workers.resize(9);
  CHECK(Says(spec, "program with 9 workers"));
  spec.workers.clear();
  CHECK(Says(spec, "program with 0 workers"));
}

TEST_CASE("CheckPlan: storages reach over no end") {
  PlanSpec spec = Chain();
  spec.storages[1].bytes = 4096 - 63;
  CHECK(Says(spec, "storage 1 reaches over the end"));
  spec.storages[1].bytes = UINT64_MAX - 63;
  CHECK(Says(spec, "storage 1 reaches over the end"));
  spec.storages[1].bytes = 64;
  spec.storages[1].index = 1;
  CHECK(Says(spec, "storage 1 is in no arena"));
  spec = WithConstant();
  spec.storages[3].bytes = 65;
  CHECK(Says(spec, "storage 3 reaches over the end"));
}

TEST_CASE("CheckPlan: tensors reach over no end") {
  PlanSpec spec = Chain();
  spec.tensors[1].dims = {17};
  CHECK(Says(spec, "tensor 1 reaches over the end"));
  spec.tensors[1].dims = {2};
  spec.tensors[1].strides = {16};
  CHECK(Says(spec, "tensor 1 reaches over the end"));
  spec.tensors[1].dims = {1 << 15, 1 << 15};
  spec.tensors[1].strides = {INT32_MAX, INT32_MAX};
  CHECK(Says(spec, "tensor 1 reaches over the end"));
}

TEST_CASE("CheckPlan: tensors have a type, a shape and strides") {
  PlanSpec spec = Chain();
  spec.tensors[1].dtype = kDTypeCount;
  CHECK(Says(spec, "tensor 1: dtype, storage, dims or strides"));
  spec = Chain();
  spec.tensors[1].storage = 3;
  CHECK(Says(spec, "tensor 1: dtype, storage, dims or strides"));
  spec = Chain();
  spec.tensors[1].strides = {-1};
  CHECK(Says(spec, "tensor 1: dtype, storage, dims or strides"));
  spec.tensors[1].strides = {1, 1};
  CHECK(Says(spec, "tensor 1: dtype, storage, dims or strides"));
  spec.tensors[1].dims = std::vector<int32_t>(9, 1);
  spec.tensors[1].strides = std::vector<int32_t>(9, 1);
  CHECK(Says(spec, "tensor 1: dtype, storage, dims or strides"));
  spec.tensors[1].dims = {1 << 16, 1 << 16};
  spec.tensors[1].strides = {0, 0};
  CHECK(Says(spec, "tensor 1: dtype, storage, dims or strides"));
}

TEST_CASE("CheckPlan: tensors are aligned to their element") {
  PlanSpec spec = Chain();
  spec.storages[1].offset = 66;
  CHECK(Says(spec, "tensor 1 is not aligned"));
  spec = Chain();
  spec.arenas[0].alignment = 2;
  CHECK(Says(spec, "is not aligned"));
  spec.arenas[0].alignment = 48;
  CHECK(Says(spec, "arena 0: memory space, size or alignment"));
}

TEST_CASE("CheckPlan: operands are tensors") {
  const std::string words = "op 1: operand out of range";
  const auto change = [](auto edit) {
    PlanSpec spec = Chain();
    edit(spec.ops[1]);
    return spec;
  };
  CHECK(Says(change([](OpSpec& op) { op.inputs[0] = 3; }), words));
  CHECK(Says(change([](OpSpec& op) { op.inputs[0] = -2; }), words));
  CHECK(Says(change([](OpSpec& op) { op.outputs[0] = 3; }), words));
  CHECK(Says(change([](OpSpec& op) { op.outputs[0] = -1; }), words));
  CHECK(Says(change([](OpSpec& op) { op.outputs.clear(); }), words));
  CHECK(Says(change([](OpSpec& op) { op.workspace = 3; }), words));
  CHECK(Says(change([](OpSpec& op) { op.workspace = -2; }), words));
  CHECK(Says(change([](OpSpec& op) { op.in_place = 1; }), words));
  CHECK(Says(change([](OpSpec& op) { op.in_place = -2; }), words));
  CHECK(Says(change([](OpSpec& op) {
               op.inputs.push_back(-1);
               op.in_place = 1;
             }),
             words));
  CHECK(Check(change([](OpSpec& op) { op.inputs.push_back(-1); })) == "");
}

TEST_CASE("CheckPlan: ops are known, their attributes of sane size, their kernels listed") {
  PlanSpec spec = Chain();
  spec.ops[1].kind = kOpKindCount;
  CHECK(Says(spec, "op 1: kind or number of attributes"));
  spec = Chain();
  spec.ops[1].attributes.resize(65);
  CHECK(Says(spec, "op 1: kind or number of attributes"));
  spec = Chain();
  spec.ops[1].kernel = 1;
  CHECK(Says(spec, "op 1: no such kernel"));
}

TEST_CASE("CheckPlan: a kernel belongs to its segment's backend") {
  PlanSpec spec = Chain();
  spec.backends = {"cpu", "cp", "opencl"};
  spec.segments[0].backend = 1;
  CHECK(Says(spec, "op 0 has a kernel of another backend"));
  spec.segments[0].backend = 3;
  CHECK(Says(spec, "segment 0: backend or stage out of range"));
}

TEST_CASE("CheckPlan: every op is in one segment") {
  PlanSpec spec = Chain();
  spec.segments[0].ops = {0};
  CHECK(Says(spec, "op 1 is in no segment"));
  spec.segments[0].ops = {0, 1, 1};
  CHECK(Says(spec, "or it is in two segments"));
  spec.segments[0].ops = {0, 1, 2};
  CHECK(Says(spec, "no op 2"));
  spec.segments[0].ops = {0, 1};
  spec.segments[0].stage = 1;
  CHECK(Says(spec, "segment 0: backend or stage"));
}

TEST_CASE("CheckPlan: segments that wait for each other are refused") {
  PlanSpec spec = Chain();
  spec.AddOp({2}, {spec.AddBuffer(192, 16)});
  spec.segments = {{{0, 2}}, {{1}}};
  CHECK(Says(spec, "wait for each other"));
}

TEST_CASE("CheckPlan: segments that share a storage but no bytes do not depend on each other") {
  PlanSpec spec = Columns();
  // Segment 1 reads what segment 0 writes, and writes the other columns of the same storage.
  spec.ops[1].inputs = {1};
  spec.segments = {{{0}}, {{1, 2}}};
  CHECK(Check(spec) == "");
}

TEST_CASE("CheckPlan: channels join segments that hand over what they carry") {
  PlanSpec spec = TwoSegments();
  spec.channels[0].tensors = {0};
  CHECK(Says(spec, "tensor 0 is not handed over"));
  spec.channels[0].tensors = {1};
  std::swap(spec.channels[0].from, spec.channels[0].to);
  CHECK(Says(spec, "tensor 1 is not handed over"));
  spec.channels[0] = {0, 0, {1}, 1};
  CHECK(Says(spec, "channel 0: segments, tensors or depth"));
  spec.channels[0] = {0, 1, {1}, 0};
  CHECK(Says(spec, "channel 0: segments, tensors or depth"));
  spec.channels[0] = {0, 1, {3}, 1};
  CHECK(Says(spec, "channel 0: segments, tensors or depth"));
}

TEST_CASE("CheckPlan: a channel may carry a view of what was written") {
  PlanSpec spec = TwoSegments();
  const uint32_t view = spec.AddTensor(1, {4, 4});
  spec.ops[1].inputs = {static_cast<int32_t>(view)};
  CHECK(Check(spec) == "");
  spec.channels[0].tensors = {view};
  CHECK(Check(spec) == "");
}

TEST_CASE("CheckPlan: stages, ports, spaces and modes exist") {
  PlanSpec spec = Chain();
  spec.stages = {1};
  CHECK(Says(spec, "stage 0 runs on no worker"));
  spec = Chain();
  spec.inputs[0].tensor = 3;
  CHECK(Says(spec, "in: input is no tensor"));
  spec = Chain();
  spec.outputs[0].tensor = 3;
  CHECK(Says(spec, "out: output is no tensor"));
  spec = Chain();
  spec.arenas[0].space = 1;
  CHECK(Says(spec, "arena 0: memory space"));
  spec = WithConstant();
  spec.sections[0].space = 1;
  CHECK(Says(spec, "weights: section in no memory space"));
  spec = Chain();
  spec.mode = 4;
  CHECK(Says(spec, "unknown mode"));
  spec = ForkAndJoin();
  spec.mode = 1;
  CHECK(Says(spec, "a pipeline of several workers"));
}

TEST_CASE("CheckPlan: a sink sees every violation and can stop") {
  PlanSpec spec = Chain();
  spec.ops[0].kernel = 1;
  spec.ops[1].kernel = 1;
  const auto file = spec.Write();
  const auto view = PlanView::Open(Span<const uint8_t>(file.data(), file.size()));
  std::vector<uint8_t> scratch(PlanCheckScratchBytes(*view));
  struct Seen {
    int count = 0;
    int limit = 0;
  } seen{0, 100};
  const ViolationSink sink{[](void* context, const Status&) {
                             auto* at = static_cast<Seen*>(context);
                             return ++at->count < at->limit;
                           },
                           &seen};
  const Span<uint8_t> space(scratch.data(), scratch.size());
  const Status first = CheckPlan(*view, space, sink);
  CHECK(seen.count == 2);
  CHECK(first.argument(0) == 0);
  seen = {0, 1};
  CHECK_FALSE(CheckPlan(*view, space, sink).ok());
  CHECK(seen.count == 1);
}

TEST_CASE("CheckPlan: too little scratch is said, not used") {
  const auto file = Chain().Write();
  const auto view = PlanView::Open(Span<const uint8_t>(file.data(), file.size()));
  std::vector<uint8_t> scratch(PlanCheckScratchBytes(*view));
  CHECK(CheckPlan(*view, Span<uint8_t>(scratch.data(), scratch.size() - 1)).code() ==
        StatusCode::kOutOfMemory);
}

TEST_CASE("CheckPlan: more work than the budget is refused instead of done") {
  // Columns of one element, all written, then read in pairs: every writer meets every other.
  PlanSpec spec;
  constexpr int32_t kColumns = 3200;
  spec.arenas[0].bytes = 1 << 20;
  const uint32_t storage = spec.AddStorage(0, kColumns * 2 * 4);
  for (int32_t i = 0; i < kColumns; ++i) {
    spec.AddOp({}, {spec.AddTensor(storage, {2, 1}, static_cast<uint64_t>(i) * 4, {kColumns, 1})});
  }
  CHECK(Says(spec, "too many strided parts"));
}
