// Order, indices, segments, channels, ports, and how violations are told.
#include <limits>

#include "tests/unit/runtime/format/plan_check_samples.hpp"

using namespace tenon;        // NOLINT
using namespace tenon::test;  // NOLINT

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
  CHECK(Says(spec, "arena 0: memory space, size, alignment"));
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

TEST_CASE("CheckPlan: only ports of bytes stand for other numbers, in a sound way") {
  const auto says = [](DType dtype, float scale, int32_t zero_point) {
    PlanSpec spec = Chain();
    spec.tensors[spec.inputs[0].tensor].dtype = static_cast<uint8_t>(dtype);
    spec.inputs[0].scale = scale;
    spec.inputs[0].zero_point = zero_point;
    return Says(spec, "in: port has a scale or zero point that it cannot have");
  };
  CHECK_FALSE(says(DType::kI8, 0.5F, -128));
  CHECK_FALSE(says(DType::kU8, 0.5F, 255));
  CHECK_FALSE(says(DType::kF32, 0.0F, 0));
  CHECK(says(DType::kF32, 0.5F, 0));
  CHECK(says(DType::kI8, 0.5F, 128));
  CHECK(says(DType::kU8, 0.5F, -1));
  CHECK(says(DType::kI8, -0.5F, 0));
  CHECK(says(DType::kI8, 0.0F, 1));
  CHECK(says(DType::kI8, std::numeric_limits<float>::infinity(), 0));
  CHECK(says(DType::kI8, std::numeric_limits<float>::quiet_NaN(), 0));
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

/// Writers of all columns of a table of two rows; every other one writes its first row only.
PlanSpec Columns(int32_t count, bool ragged) {
  PlanSpec spec;
  spec.arenas[0].bytes = 1 << 20;
  const uint32_t storage = spec.AddStorage(0, static_cast<uint64_t>(count) * 2 * 4);
  for (int32_t i = 0; i < count; ++i) {
    const int32_t rows = ragged && i % 2 == 1 ? 1 : 2;
    spec.AddOp({}, {spec.AddTensor(storage, {rows, 1}, static_cast<uint64_t>(i) * 4, {count, 1})});
  }
  return spec;
}

TEST_CASE("CheckPlan: thousands of parts side by side are no more work than a few") {
  CHECK(Check(Columns(5000, /*ragged=*/false)).empty());
  PlanSpec spec = Columns(1000, /*ragged=*/false);
  // The last one a column further left, onto another.
  spec.tensors.back().offset -= 4;
  CHECK(Says(spec, "writes bytes of tensor"));
}

TEST_CASE("CheckPlan: more work than the budget is refused instead of done") {
  CHECK(Says(Columns(5000, /*ragged=*/true), "too many strided parts"));
}
