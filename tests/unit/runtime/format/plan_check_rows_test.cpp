// The plan check: inputs in memory of the caller's own, whole or by rows.
#include "tests/unit/runtime/format/plan_check_samples.hpp"

namespace tenon::test {
namespace {

constexpr auto kCopy = static_cast<uint16_t>(OpKind::kCopy);

/// in (memory of the caller's own) -> a -> out.
PlanSpec FromMemory() {
  PlanSpec spec;
  spec.spaces.emplace_back("input:in");
  spec.arenas.push_back({64, 4, 1, 1, ArenaUse::kInput});
  const uint32_t in = spec.AddBuffer(0, 16);
  spec.storages[0].index = 1;
  const uint32_t a = spec.AddBuffer(0, 16);
  const uint32_t out = spec.AddBuffer(64, 16);
  spec.AddOp({in}, {a});
  spec.AddOp({a}, {out});
  spec.AddInput(in);
  spec.AddOutput(out);
  return spec;
}

/// Of 16 rows of 2, 4 at a time are copied, from these bytes on; an op reads all copies.
PlanSpec ByRows(const std::vector<uint64_t>& offsets) {
  PlanSpec spec;
  spec.spaces.emplace_back("rows:in");
  spec.arenas.push_back({128, 4, 1, 1, ArenaUse::kRows});
  const uint32_t input = spec.AddStorage(0, 128);
  spec.storages[0].index = 1;
  const uint32_t in = spec.AddTensor(input, {1, 16, 2});
  std::vector<uint32_t> copies;
  for (const uint64_t offset : offsets) {
    const uint32_t rows = spec.AddTensor(input, {1, 4, 2}, offset, {32, 2, 1});
    copies.push_back(spec.AddTensor(spec.AddStorage(64 * copies.size(), 32), {1, 4, 2}));
    spec.AddOp({rows}, {copies.back()});
    spec.ops.back().kind = kCopy;
  }
  const uint32_t out = spec.AddBuffer(64 * offsets.size(), 16);
  spec.AddOp(copies, {out});
  spec.AddInput(in);
  spec.AddOutput(out);
  return spec;
}

constexpr const char* kNotInOrder = "rows in arena 1 are not read in order, each once, by copies";
constexpr const char* kWritten = "is written in memory that is only read";

TEST_CASE("CheckPlan, inputs outside: memory of the caller's own is only read") {
  PlanSpec spec = FromMemory();
  CHECK(Check(spec) == "");
  SUBCASE("an output") { spec.storages[1].index = 1; }
  SUBCASE("behind the input") {
    spec.arenas[1].bytes = 256;
    spec.storages[1].index = 1;
    spec.storages[1].offset = 128;
  }
  CHECK(Says(spec, kWritten));
}

TEST_CASE("CheckPlan, inputs outside: no workspace and no state lie there") {
  PlanSpec spec = FromMemory();
  spec.arenas[1].bytes = 256;
  const uint32_t storage = spec.AddStorage(128, 64);
  spec.storages[storage].index = 1;
  SUBCASE("a workspace") {
    spec.ops[0].workspace = static_cast<int32_t>(spec.AddTensor(storage, {64}, 0, {}, DType::kU8));
    CHECK(Says(spec, kWritten));
  }
  SUBCASE("a state") {
    const uint32_t kept = spec.AddTensor(storage, {16});
    spec.ops[1].inputs.push_back(static_cast<int32_t>(kept));
    spec.states.push_back({kept, 1, -1});
    CHECK(Says(spec, "state 0: no such tensors"));
  }
}

TEST_CASE("CheckPlan, rows: they are read in order, each once, the last ones perhaps never") {
  CHECK(Check(ByRows({0, 32, 64, 96})) == "");
  CHECK(Check(ByRows({0, 32})) == "");
  CHECK(Says(ByRows({32, 0, 64}), kNotInOrder));
  CHECK(Says(ByRows({0, 64}), kNotInOrder));
  CHECK(Says(ByRows({0, 32, 32}), kNotInOrder));
  CHECK(Says(ByRows({0, 16, 48}), kNotInOrder));
  CHECK(Says(ByRows({8, 40}), kNotInOrder));
}

TEST_CASE("CheckPlan, rows: the order that counts is that of the steps") {
  PlanSpec spec = ByRows({0, 32, 64});
  std::swap(spec.workers[0][0].op, spec.workers[0][1].op);
  CHECK(Says(spec, kNotInOrder));
  spec.arenas[1].use = ArenaUse::kInput;  // in memory, all of it is there
  CHECK(Check(spec) == "");
}

TEST_CASE("CheckPlan, rows: nothing but copies reads them") {
  PlanSpec spec = ByRows({0, 32, 64});
  spec.ops[2].kind = 4;
  CHECK(Says(spec, kNotInOrder));
  spec = ByRows({0, 32, 64});
  spec.ops[3].inputs.push_back(static_cast<int32_t>(spec.inputs[0].tensor));
  CHECK(Says(spec, kNotInOrder));
}

TEST_CASE("CheckPlan, rows: what is copied is one run of bytes on both sides") {
  PlanSpec spec = ByRows({0, 32, 64});
  spec.tensors[1].dims = {1, 4, 1};
  spec.tensors[2].dims = {1, 4, 1};
  CHECK(Says(spec, kNotInOrder));
  spec = ByRows({0, 32, 64});
  spec.tensors[2].strides = {8, 1, 4};
  CHECK(Says(spec, kNotInOrder));
}

TEST_CASE("CheckPlan, rows: the input begins its arena: what is not there has no other place") {
  PlanSpec spec = ByRows({0, 32, 64});
  spec.arenas[1].bytes = 256;
  CHECK(Check(spec) == "");
  spec.storages[0].offset = 64;
  CHECK(Says(spec, kNotInOrder));
}

}  // namespace
}  // namespace tenon::test
