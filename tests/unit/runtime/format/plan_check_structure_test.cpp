// Indices, ranges, ports, and how violations are told.
#include <limits>

#include "tests/unit/runtime/format/plan_check_samples.hpp"

using namespace tenon;        // NOLINT
using namespace tenon::test;  // NOLINT

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

TEST_CASE("CheckPlan: ports, spaces and modes exist") {
  PlanSpec spec = Chain();
  spec.inputs[0].tensor = 3;
  CHECK(Says(spec, "in: input or output is no tensor"));
  spec = Chain();
  spec.outputs[0].tensor = 3;
  CHECK(Says(spec, "out: input or output is no tensor"));
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
