#include "runtime/format/plan_view.hpp"

#include <doctest/doctest.h>

#include "tests/unit/runtime/format/plan_fixture.hpp"

using namespace tenon;        // NOLINT
using namespace tenon::test;  // NOLINT

namespace {

Status Open(const std::vector<uint8_t>& file, bool skip_section_crc = false) {
  return PlanView::Open(Span<const uint8_t>(file.data(), file.size()), skip_section_crc).status();
}

PlanSpec WithSections() {
  PlanSpec spec = Chain();
  spec.sections.push_back({std::vector<uint8_t>(100, 7), 64});
  spec.sections.push_back({std::vector<uint8_t>(5000, 9), 4096});
  return spec;
}

plan::Section* SectionOf(std::vector<uint8_t>& file, unsigned index) {
  return const_cast<plan::Section*>(plan::GetPlan(file.data())->sections()->Get(index));
}

template <typename T>
void Set(plan::Section* section, flatbuffers::voffset_t field, T value) {
  REQUIRE(reinterpret_cast<flatbuffers::Table*>(section)->SetField<T>(field, value));
}

}  // namespace

TEST_CASE("PlanView: an opened plan shows what was written") {
  PlanSpec spec = WithSections();
  spec.ops[1].in_place = 0;
  spec.workers[0][1].waits = {{0, 0}};
  const auto file = spec.Write();
  const auto view = PlanView::Open(Span<const uint8_t>(file.data(), file.size()));
  REQUIRE(view.ok());
  CHECK(view->version_minor() == kPlanVersionMinor);
  CHECK(std::string(view->board()) == "host");
  CHECK(std::string(view->kernel(0)) == "cpu.unary.generic");
  REQUIRE(view->section_count() == 2);
  CHECK(view->section(1).bytes == 5000);
  CHECK(view->section_data(1)[4999] == 9);
  CHECK((view->section_data(1) - file.data()) % 4096 == 0);
  const ProgramView program = view->program(0);
  CHECK(program.arena(0).bytes == 4096);
  CHECK(program.storage(1).offset == 64);
  CHECK(program.tensor(2).dims[0] == 16);
  CHECK(program.op(1).in_place == 0);
  CHECK(program.op(1).inputs[0] == 1);
  CHECK(program.op(0).workspace == -1);
  CHECK(program.step(0, 1).op == 1);
  CHECK(program.wait(0, 1, 0).step == 0);
  CHECK(program.segment(0).ops.size() == 2);
  CHECK(std::string(program.output(0).name) == "out");
  CHECK(program.channel_count() == 0);
}

TEST_CASE("PlanView: rings, fall-back kernels and what segments exchange are shown") {
  PlanSpec spec = Chain();
  spec.arenas[0] = {100, 64, 0, 3};
  spec.ops[1].fallback_kernel = 0;
  spec.ops[1].fallback_workspace = 2;
  spec.segments[0].reads = {0};
  spec.segments[0].writes = {1, 2};
  spec.channels = {{0, 0, {1}, 3, 0}};
  const auto file = spec.Write();
  const auto view = PlanView::Open(Span<const uint8_t>(file.data(), file.size()));
  REQUIRE(view.ok());
  const ProgramView program = view->program(0);
  CHECK(program.arena(0).slots == 3);
  CHECK(SlotStride(program.arena(0)) == 128);
  CHECK(ArenaBytes(program.arena(0)) == 384);
  CHECK(program.op(0).fallback_kernel == -1);
  CHECK(program.op(0).fallback_workspace == -1);
  CHECK(program.op(1).fallback_kernel == (kHasDevices ? 0 : -1));
  CHECK(program.op(1).fallback_workspace == (kHasDevices ? 2 : -1));
  REQUIRE(program.segment(0).reads.size() == 1);
  CHECK(program.segment(0).reads[0] == 0);
  REQUIRE(program.segment(0).writes.size() == 2);
  CHECK(program.segment(0).writes[1] == 2);
  CHECK(program.channel(0).depth == 3);
  CHECK(program.channel(0).arena == 0);
}

TEST_CASE("PlanView: an address that is not a multiple of 16 is refused") {
  auto file = Chain().Write();
  file.insert(file.begin(), 4, 0);
  CHECK(PlanView::Open(Span<const uint8_t>(file.data() + 4, file.size() - 4)).status().code() ==
        StatusCode::kInvalidArgument);
  CHECK(PlanView::Open({}).status().code() == StatusCode::kInvalidArgument);
}

TEST_CASE("PlanView: a file that is no plan is refused") {
  auto file = Chain().Write();
  file[4] = 'X';
  CHECK(Open(file).code() == StatusCode::kCorruptPlan);
  CHECK(Open(std::vector<uint8_t>(5, 0)).code() == StatusCode::kCorruptPlan);
}

TEST_CASE("PlanView: every cut of a plan is refused") {
  const auto file = WithSections().Write();
  for (size_t size = 0; size < file.size(); ++size) {
    const std::vector<uint8_t> cut(file.begin(), file.begin() + static_cast<ptrdiff_t>(size));
    if (!cut.empty()) CHECK_FALSE(Open(cut).ok());
  }
}

TEST_CASE("PlanView: bytes behind the last section are nobody's") {
  auto file = WithSections().Write();
  file.resize(file.size() + 100, 0xFF);
  CHECK(Open(file).ok());
}

TEST_CASE("PlanView: a flipped bit anywhere is noticed") {
  const auto file = WithSections().Write();
  const auto bytes = plan::GetPlan(file.data())->header()->bytes();
  const auto second =
      static_cast<size_t>(plan::GetPlan(file.data())->sections()->Get(1)->file_offset());
  for (size_t i = 0; i < file.size(); ++i) {
    // Padding between sections belongs to nobody.
    if (i >= bytes && i < second &&
        !(i >= SectionOf(const_cast<std::vector<uint8_t>&>(file), 0)->file_offset() &&
          i < SectionOf(const_cast<std::vector<uint8_t>&>(file), 0)->file_offset() + 100)) {
      continue;
    }
    auto flipped = file;
    flipped[i] ^= static_cast<uint8_t>(1U << (i % 8));
    CHECK_FALSE(Open(flipped).ok());
  }
}

TEST_CASE("PlanView: the check sum of sections can be left out") {
  auto file = WithSections().Write();
  file.back() ^= 1;
  CHECK_FALSE(Open(file).ok());
  CHECK(Open(file, true).ok());
}

TEST_CASE("PlanView: before 1.0 only the very same version is read") {
  PlanSpec spec = Chain();
  spec.version_minor = kPlanVersionMinor + 1;
  CHECK(Open(spec.Write()).code() == StatusCode::kUnsupportedVersion);
  spec.version_minor = kPlanVersionMinor - 1;
  CHECK(Open(spec.Write()).code() == StatusCode::kUnsupportedVersion);
  spec.version_minor = kPlanVersionMinor;
  spec.version_major = kPlanVersionMajor + 1;
  CHECK(Open(spec.Write()).code() == StatusCode::kUnsupportedVersion);
}

TEST_CASE("PlanView: sections that overlap each other, the header or the end are refused") {
  const auto file = WithSections().Write();
  const auto change = [&](auto edit) {
    auto copy = file;
    edit(SectionOf(copy, 0));
    Seal(copy);
    return Open(copy, true).code();
  };
  using S = plan::Section;
  CHECK(change([](S*) {}) == StatusCode::kOk);
  CHECK(change([](S* s) { Set<uint64_t>(s, S::VT_FILE_OFFSET, 0); }) == StatusCode::kCorruptPlan);
  CHECK(change([](S* s) { Set<uint64_t>(s, S::VT_BYTES, 4097); }) == StatusCode::kCorruptPlan);
  CHECK(change([](S* s) { Set<uint64_t>(s, S::VT_BYTES, UINT64_MAX - 63); }) ==
        StatusCode::kCorruptPlan);
  CHECK(change([&](S* s) { Set<uint64_t>(s, S::VT_FILE_OFFSET, s->file_offset() + 1); }) ==
        StatusCode::kCorruptPlan);
  CHECK(change([](S* s) { Set<uint32_t>(s, S::VT_ALIGNMENT, 0); }) == StatusCode::kCorruptPlan);
  CHECK(change([](S* s) { Set<uint32_t>(s, S::VT_ALIGNMENT, 48); }) == StatusCode::kCorruptPlan);
}

TEST_CASE("PlanView: an absent element in a vector is refused") {
  auto file = Chain().Write();
  const auto* program = plan::GetPlan(file.data())->programs()->Get(0);
  auto* tensors =
      const_cast<flatbuffers::Vector<flatbuffers::Offset<plan::Tensor>>*>(program->tensors());
  std::memset(tensors->Data(), 0, 4);
  Seal(file);
  CHECK(Open(file).code() == StatusCode::kCorruptPlan);
}

TEST_CASE("PlanView: a name without its end is refused") {
  auto file = Chain().Write();
  const auto* name = plan::GetPlan(file.data())->board();
  file[static_cast<size_t>(reinterpret_cast<const uint8_t*>(name->c_str()) - file.data()) +
       name->size()] = 'x';
  Seal(file);
  CHECK(Open(file).code() == StatusCode::kCorruptPlan);
}
