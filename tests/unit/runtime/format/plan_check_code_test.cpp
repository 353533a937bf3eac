// Code of segments: where it lies, and what its base registers lead to.
#include "tests/unit/runtime/format/plan_check_samples.hpp"

using namespace tenon;        // NOLINT
using namespace tenon::test;  // NOLINT

namespace {

constexpr uint8_t kWeights = 0;
constexpr uint8_t kInput = 1;
constexpr uint8_t kOutput = 2;

/// WithDevice(), whose device's segment (op 1, then op 2) is run by code. What lies between the two
/// ops, tensor 2, stays inside the accelerator.
PlanSpec WithCode() {
  PlanSpec spec = WithDevice();
  spec.sections = {{std::vector<uint8_t>(256), 64, 0}};
  CodeSpec code;
  code.offset = 128;
  code.relocations = {{StorageHome::kSection, 0, 0, 128, kWeights, false},
                      {StorageHome::kArena, 0, 64, 64, kInput, false},
                      {StorageHome::kArena, 0, 192, 64, kOutput, true}};
  spec.segments[1].code = {code};
  return spec;
}

CodeSpec& CodeOf(PlanSpec& spec) { return spec.segments[1].code[0]; }

}  // namespace

TEST_CASE("CheckPlan: a segment may have code, whose fields are read as they were written") {
  const PlanSpec spec = WithCode();
  CHECK(Check(spec) == "");
  const std::vector<uint8_t> file = spec.Write();
  const Result<PlanView> plan = PlanView::Open(Span<const uint8_t>(file.data(), file.size()));
  REQUIRE(plan.ok());
  const ProgramView program = plan->program(0);
  CHECK(program.segment_code_count(0) == 0);
  REQUIRE(program.segment_code_count(1) == 1);
  const SegmentCodeInfo code = program.segment_code(1);
  CHECK(code.offset == 128);
  CHECK(code.bytes == 64);
  CHECK(std::string(code.accelerator) == "accelerator");
  CHECK(code.version == 1);
  REQUIRE(code.parameters.size() == 3);
  CHECK(code.parameters[0] == 8);
  CHECK(code.image.empty());
  REQUIRE(code.relocation_count == 3);
  const RelocationInfo output = program.segment_relocation(1, 2);
  CHECK(output.home == StorageHome::kArena);
  CHECK(output.offset == 192);
  CHECK(output.bytes == 64);
  CHECK(output.base_register == kOutput);
  CHECK(output.writes);
}

TEST_CASE("CheckPlan: code lies inside its section, aligned") {
  PlanSpec spec = WithCode();
  CodeOf(spec).section = 1;
  CHECK(Says(spec, "segment 1: its code is in section 1, which there is not"));
  spec = WithCode();
  CodeOf(spec).bytes = 129;
  CHECK(Says(spec, "segment 1: its code is empty or reaches over its section"));
  CodeOf(spec).bytes = 0;
  CHECK(Says(spec, "segment 1: its code is empty"));
  spec = WithCode();
  CodeOf(spec).offset = UINT64_MAX - 63;
  CHECK(Says(spec, "segment 1: its code is empty or reaches over its section"));
  spec = WithCode();
  CodeOf(spec).offset = 96;
  CHECK(Says(spec, "segment 1: its code is not aligned to 64"));
  spec = WithCode();
  CodeOf(spec).image = {1, 2, 3};
  CHECK(Says(spec, "segment 1: an image's uuid has 4 words, not 3"));
}

TEST_CASE("CheckPlan: only devices run code, one piece a segment") {
  PlanSpec spec = WithCode();
  spec.segments[2].code = {CodeOf(spec)};
  CHECK(Says(spec, "segment 2 has code, but runs on the CPU"));
  spec = WithCode();
  spec.segments[1].code.push_back(CodeOf(spec));
  CHECK(Says(spec, "segment 1 has code 2 times"));
}

TEST_CASE("CheckPlan: base registers of code are few, and each leads to one place") {
  PlanSpec spec = WithCode();
  CodeOf(spec).relocations[2].base_register = kWeights;
  CHECK(Says(spec, "segment 1: no base register 0, or it leads to several places"));
  CodeOf(spec).relocations[2].base_register = kInput;  // behind the input, in the same arena
  CHECK(Check(spec) == "");
  std::swap(CodeOf(spec).relocations[1], CodeOf(spec).relocations[2]);
  CHECK(Says(spec, "segment 1: no base register 1, or it leads to several places"));
  spec = WithCode();
  CodeOf(spec).relocations.resize(65, CodeOf(spec).relocations[1]);
  CHECK(Says(spec, "segment 1: its code has 65 relocations, which are too many"));
  spec = WithCode();
  CodeOf(spec).relocations[2].base_register = 16;
  CHECK(Says(spec, "segment 1: no base register 16"));
}

TEST_CASE("CheckPlan: code reads constants inside sections, and never writes there") {
  PlanSpec spec = WithCode();
  CodeOf(spec).relocations[0].bytes = 257;
  CHECK(Says(spec, "segment 1: base register 0 leads out of its section"));
  spec = WithCode();
  CodeOf(spec).relocations[0].writes = true;
  CHECK(Says(spec, "base register 0 leads out of its section, or writes there"));
  spec = WithCode();
  CodeOf(spec).relocations[0].index = 1;
  CHECK(Says(spec, "base register 0 leads out of its section"));
}

TEST_CASE("CheckPlan: code reaches storages that its ops use, and writes where they do") {
  PlanSpec spec = WithCode();
  CodeOf(spec).relocations[1].bytes = 8192;
  CHECK(Says(spec, "segment 1: base register 1 leads out of its arena"));
  CodeOf(spec).relocations[1].bytes = 65;  // a neighbour's first byte
  CHECK(Says(spec, "segment 1: base register 1 leads to bytes that none of its ops uses so"));
  spec = WithCode();
  CodeOf(spec).relocations[1].writes = true;  // it reads there
  CHECK(Says(spec, "segment 1: base register 1 leads to bytes that none of its ops uses so"));
  spec = WithCode();
  CodeOf(spec).relocations[1].index = 1;
  CHECK(Says(spec, "segment 1: base register 1 leads out of its arena"));
  spec = WithCode();  // what stays inside may have a window, for what does not fit the accelerator
  CodeOf(spec).relocations.push_back({StorageHome::kArena, 0, 128, 64, 3, true});
  CHECK(Check(spec) == "");
}

TEST_CASE("CheckPlan: what crosses the segment's edge is within the reach of its code") {
  PlanSpec spec = WithCode();
  CodeOf(spec).relocations.erase(CodeOf(spec).relocations.begin() + 1);
  CHECK(Says(spec, "segment 1: no base register of its code leads to tensor 1"));
  spec = WithCode();
  CodeOf(spec).relocations[2].writes = false;
  CHECK(Says(spec, "segment 1: no base register of its code leads to tensor 3"));
}

namespace {

/// WithCode(), where tensor 2 has no place in the arena.
PlanSpec WithInside() {
  PlanSpec spec = WithCode();
  StorageSpec& inside = spec.storages[spec.tensors[2].storage];
  inside.offset = 0;
  inside.index = 1;
  inside.in_device = true;
  return spec;
}

}  // namespace

TEST_CASE("CheckPlan: what stays inside a device takes no place in an arena") {
  PlanSpec spec = WithInside();
  CHECK(Check(spec) == "");
  spec.storages[spec.tensors[2].storage].bytes = 63;
  CHECK(Says(spec, "tensor 2 reaches over the end of its storage"));
  spec = WithInside();
  spec.storages[spec.tensors[2].storage].offset = 4;
  CHECK(Says(spec, "is in no arena and no section"));
  for (const int segment : {0, 2, 9}) {  // on the CPU, or none
    spec = WithInside();
    spec.storages[spec.tensors[2].storage].index = static_cast<uint16_t>(segment);
    CHECK(Says(spec, "is in no arena and no section"));
  }
}

TEST_CASE("CheckPlan: nobody but its segment's code uses what is inside a device") {
  PlanSpec spec = WithInside();
  spec.ops[3].inputs[0] = 2;
  CHECK(Says(spec, "op 3: tensor 2 is inside a device that runs another segment"));
  spec = WithInside();
  spec.outputs[0].tensor = 2;
  CHECK(Says(spec, "input or output is no tensor in an arena"));
  spec = WithInside();
  spec.segments[1].reads.push_back(2);
  CHECK(Says(spec, "segment 1: exchanges tensor 2, which is in no arena"));
  spec = WithInside();
  spec.ops[1].fallback_kernel = spec.ops[2].fallback_kernel = 0;
  CHECK(Says(spec, "tensor 2 is inside a device that runs another segment"));
}
