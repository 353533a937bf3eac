// Who writes, who reads, and where: regions, occupancy, working in place.
#include "tests/unit/runtime/format/plan_check_samples.hpp"

using namespace tenon;        // NOLINT
using namespace tenon::test;  // NOLINT

TEST_CASE("CheckPlan: good plans pass") {
  CHECK(Check(Chain()) == "");
  CHECK(Check(Columns()) == "");
  CHECK(Check(InPlace()) == "");
  CHECK(Check(WithConstant()) == "");
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

/// Columns of rows of six, 4 and 2 wide, read as if rows had eight elements.
PlanSpec OtherRows() {
  PlanSpec spec;
  const uint32_t in = spec.AddBuffer(0, 16);
  const uint32_t joined = spec.AddStorage(64, 96);
  const uint32_t left = spec.AddTensor(joined, {4, 4}, 0, {6, 1});
  const uint32_t right = spec.AddTensor(joined, {4, 2}, 16, {6, 1});
  const uint32_t read = spec.AddTensor(joined, {3, 2}, 0, {8, 1});
  const uint32_t out = spec.AddBuffer(192, 32);
  spec.AddOp({in}, {left});
  spec.AddOp({in}, {right});
  spec.AddOp({read}, {out});
  spec.AddInput(in);
  spec.AddOutput(out);
  return spec;
}

TEST_CASE("CheckPlan: rows of another length than were written are looked at one by one") {
  CHECK(Check(OtherRows()) == "");
  PlanSpec spec = OtherRows();
  spec.tensors[2].dims = {2, 2};  // elements 16 and 17 are left
  CHECK(Says(spec, "op2: reads tensor 3 before all of it is written"));
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
  spec.ops[1].kind = static_cast<uint16_t>(OpKind::kBinary);
  spec.ops[1].inputs.push_back(1);  // the same elements once more: fine
  CHECK(Check(spec) == "");
  spec.ops[1].inputs.push_back(static_cast<int32_t>(spec.AddTensor(1, {16}, 0, {0})));
  CHECK(Says(spec, "storage 2 is written while storage 1 is alive on the same bytes"));
}

TEST_CASE("CheckPlan: an op in place takes over what it writes and no more") {
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
  spec.AddOp({in}, {spec.AddTensor(target, {8}, 32)});  // where nothing is
  CHECK(Check(spec) == "");
  spec.AddOp({in}, {spec.AddTensor(source, {8}, 32)});
  CHECK(Says(spec, "storage 2 is written while storage 1 is alive on the same bytes"));
}

TEST_CASE("CheckPlan: a storage may be written where nothing uses another one any more") {
  for (const uint64_t distance : {8, 15}) {
    CHECK(Says(Following(distance),
               "storage 1 is written while storage 0 is alive on the same bytes"));
  }
  PlanSpec spec = Following(16);
  CHECK(Check(spec) == "");
  std::swap(spec.ops[2].inputs, spec.ops[3].inputs);
  CHECK(Says(spec, "storage 1 is written while storage 0 is alive on the same bytes"));
}

TEST_CASE("CheckPlan: what an op in place took over may not be read later") {
  PlanSpec spec = InPlace();
  spec.ops[2].inputs.push_back(1);
  CHECK(Says(spec, "storage 2 is written while storage 1 is alive on the same bytes"));
  spec = InPlace();
  spec.AddOutput(1);
  CHECK(Says(spec, "storage 2 is written while storage 1 is alive on the same bytes"));
}

TEST_CASE("CheckPlan: an op that writes the storage of an input is refused") {
  PlanSpec spec = Chain();
  spec.AddOp({2}, {0});
  CHECK(Says(spec, "is on bytes of an input or a state, which nothing else may write"));
}

TEST_CASE("CheckPlan: constants are read, never written") {
  PlanSpec spec = WithConstant();
  spec.ops[0].outputs = {3};
  CHECK(Says(spec, "op 0 writes a constant"));
  spec = WithConstant();
  spec.AddInput(3);
  CHECK(Says(spec, "in: input or output is no tensor in an arena"));
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
