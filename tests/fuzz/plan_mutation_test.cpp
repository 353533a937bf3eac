// Damaged and hostile plan files: whatever the bytes are, Open and CheckPlan come back with an
// answer, touch nothing outside the file and the scratch (run under ASan for that), and allocate
// nothing.
#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <random>

#include "runtime/base/config.hpp"
#include "tests/unit/runtime/format/plan_check_samples.hpp"

using namespace tenon;        // NOLINT
using namespace tenon::test;  // NOLINT

namespace {
std::atomic<size_t> allocations{0};
}

// Not inlined, or the compiler sees malloc in one and delete in the other and warns.
[[gnu::noinline]] void* operator new(size_t size) {
  ++allocations;
  // Plans lie in vectors and must be aligned to 16: on 64-bit targets all memory is.
  void* memory = sizeof(void*) == 8 ? std::malloc(size == 0 ? 1 : size)
                                    : std::aligned_alloc(16, (size + 16) / 16 * 16);
  if (memory != nullptr) return memory;
  std::abort();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace {

/// What firmware takes of Rich(): one worker, on the CPU.
PlanSpec OneWorker(PlanSpec spec) {
  spec.segments = {{{0, 1, 2, 3, 4}}};
  spec.workers = {{{0, {}}, {1, {}}, {2, {}}, {3, {}}, {4, {}}}};
  spec.ops[3].kernel = 0;
  spec.ops[3].fallback_kernel = -1;
  spec.ops[3].fallback_workspace = -1;
  return spec;
}

/// A plan with something of everything: workers, waits, parts, in place, constants, a device with
/// the CPU's form of its op.
PlanSpec Rich() {
  PlanSpec spec;
  spec.arenas = {{4096, 64, 0}, {256, 64, 0}};
  spec.backends = {"cpu", "opencl"};
  spec.kernels = {"cpu.unary.generic", "opencl.unary.generic"};
  spec.sections.push_back({std::vector<uint8_t>(256, 3), 64});
  spec.sections.push_back({std::vector<uint8_t>(64, 5), 64});
  const uint32_t in = spec.AddBuffer(0, 32);
  const uint32_t a = spec.AddBuffer(128, 32);
  const uint32_t b = spec.AddBuffer(128, 32);
  const uint32_t joined = spec.AddStorage(256, 256);
  const uint32_t left = spec.AddTensor(joined, {4, 8}, 0, {16, 1});
  const uint32_t right = spec.AddTensor(joined, {4, 8}, 32, {16, 1});
  const uint32_t all = spec.AddTensor(joined, {64});
  const uint32_t out = spec.AddBuffer(512, 64);
  spec.storages.push_back({0, 128, true, 0});
  const auto weights = spec.AddTensor(static_cast<uint32_t>(spec.storages.size() - 1), {32});
  spec.storages.push_back({0, 64, false, 1});
  const auto scratch =
      spec.AddTensor(static_cast<uint32_t>(spec.storages.size() - 1), {64}, 0, {}, DType::kU8);
  spec.AddOp({in, weights}, {a});
  spec.AddOp({a}, {b});
  spec.ops[1].in_place = 0;
  spec.AddOp({b}, {left});
  spec.AddOp({in}, {right}, 1, {}, 1);
  spec.ops[3].kernel = 1;
  spec.ops[3].workspace = static_cast<int32_t>(scratch);
  spec.ops[3].fallback_kernel = 0;
  spec.storages.push_back({64, 64, false, 1});
  spec.ops[3].fallback_workspace = static_cast<int32_t>(
      spec.AddTensor(static_cast<uint32_t>(spec.storages.size() - 1), {64}, 0, {}, DType::kU8));
  spec.segments[1] = {{3}, 1, 0, {in}, {right}};
  spec.AddOp({all}, {out}, 0, {{1, 0}}, 2);
  spec.AddInput(in);
  spec.AddOutput(out);
  return kHasWorkers ? spec : OneWorker(spec);
}

struct Outcome {
  bool opened = false;
  bool passed = false;
};

class Subject {
 public:
  Subject() : scratch_(1 << 20) {}

  Outcome Try(const std::vector<uint8_t>& file) {
    Outcome outcome;
    const size_t before = allocations;
    const auto view = PlanView::Open(Span<const uint8_t>(file.data(), file.size()));
    if (view.ok()) {
      outcome.opened = true;
      const size_t bytes = PlanCheckScratchBytes(*view);
      // Exactly as many bytes as it asks for, at the end of the block, for ASan to see more.
      REQUIRE(bytes <= scratch_.size());
      REQUIRE(bytes % 16 == 0);
      const Span<uint8_t> scratch(scratch_.data() + scratch_.size() - bytes, bytes);
      outcome.passed = CheckPlan(*view, scratch, kSink).ok();
      // As loading asks: nobody listens, and the answer is the same.
      CHECK(CheckPlan(*view, scratch).ok() == outcome.passed);
    }
    CHECK(allocations == before);
    return outcome;
  }

 private:
  static constexpr ViolationSink kSink{[](void*, const Status& status) {
                                         char text[64];
                                         status.Format(Span<char>(text, sizeof text));
                                         return true;
                                       },
                                       nullptr};
  std::vector<uint8_t> scratch_;
};

/// Values that sit on edges: where a parser counts, compares, multiplies or wraps.
uint32_t Interesting(std::mt19937& random) {
  constexpr uint32_t kValues[] = {
      0,   1,   2,      3,      4,          7,          8,          16,         64,
      255, 256, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFF8, 0xFFFFFFFC, 0xFFFFFFFF};
  return random() % 4 == 0 ? static_cast<uint32_t>(random() % 300)
                           : kValues[random() % std::size(kValues)];
}

void Mutate(std::vector<uint8_t>& file, size_t header_bytes, std::mt19937& random) {
  const size_t at = random() % header_bytes;
  switch (random() % 5) {
    case 0:
      file[at] ^= static_cast<uint8_t>(1U << (random() % 8));
      break;
    case 1:
      file[at] = static_cast<uint8_t>(random());
      break;
    case 2: {  // a whole field
      const uint32_t value = Interesting(random);
      std::memcpy(file.data() + at / 4 * 4, &value, 4);
      break;
    }
    case 3: {  // one field's value in another's place
      const size_t from = random() % header_bytes / 4 * 4;
      std::memmove(file.data() + at / 4 * 4, file.data() + from, 4);
      break;
    }
    default: {  // a vector or table moved by a little
      uint32_t value = 0;
      std::memcpy(&value, file.data() + at / 4 * 4, 4);
      value += static_cast<uint32_t>(random() % 33) - 16;
      std::memcpy(file.data() + at / 4 * 4, &value, 4);
      break;
    }
  }
}

/// Writes an offset. Apart from its callers, because the compiler takes an address inside a
/// generated class, whose bytes are the file's, for one of the class's own single byte.
[[gnu::noinline]] void PutOffset(uint8_t* at, uint32_t offset) { std::memcpy(at, &offset, 4); }

}  // namespace

TEST_CASE("Plan mutation: the plans themselves pass") {
  CHECK(Check(Rich()) == "");
  if (kHasWorkers) CHECK(Check(Pipeline()) == "");
}

TEST_CASE("Plan mutation: with stale check sums no mutation opens") {
  const auto original = Rich().Write();
  const size_t header_bytes = plan::GetPlan(original.data())->header()->bytes();
  Subject subject;
  std::mt19937 random(1);
  for (int i = 0; i < 10000; ++i) {
    auto file = original;
    Mutate(file, header_bytes, random);
    const bool same = file == original;
    CHECK(subject.Try(file).opened == same);
  }
}

/// Whether a segment of the plan, whose other tables have been looked at, says that it has code.
/// Whether a program has code of segments or groups of ops, which firmware does not look at.
bool HasWhatFirmwareSkips(const std::vector<uint8_t>& file) {
  const auto has = [](const void* table, flatbuffers::voffset_t field) {
    return static_cast<const flatbuffers::Table*>(table)->GetOptionalFieldOffset(field) != 0;
  };
  for (const plan::Program* program : *plan::GetPlan(file.data())->programs()) {
    if (has(program, plan::Program::VT_GROUPS)) return true;
    if (program->segments() == nullptr) continue;
    for (const plan::Segment* segment : *program->segments()) {
      if (has(segment, plan::Segment::VT_CODE)) return true;
    }
  }
  return false;
}

void CheckMutations(const PlanSpec& spec) {
  const auto original = spec.Write();
  auto measured = original;
  const size_t header = HeaderPosition(measured);
  const size_t header_bytes = plan::GetPlan(original.data())->header()->bytes();
  Subject subject;
  std::mt19937 random(2);
  int opened = 0;
  int passed = 0;
  for (int i = 0; i < 60000; ++i) {
    auto file = original;
    for (size_t k = 1 + random() % 4; k > 0; --k) Mutate(file, header_bytes, random);
    SealAt(file, header);
    if (random() % 8 == 0) file.resize(random() % file.size());
    if (file.empty()) continue;
    const Outcome outcome = subject.Try(file);
    opened += outcome.opened ? 1 : 0;
    passed += outcome.passed ? 1 : 0;
    // What is opened must stand up to the reference verifier too. Firmware does not look at what
    // only accelerators and groups of workers use: what is wrong there it cannot find.
    if (outcome.opened && (kHasDevices || !HasWhatFirmwareSkips(file))) {
      flatbuffers::Verifier verifier(file.data(), header_bytes);
      CHECK(plan::VerifyPlanBuffer(verifier));
    }
  }
  MESSAGE(opened << " opened, " << passed << " passed");
  CHECK(opened > 6000);
  CHECK(passed > 60);
}

TEST_CASE("Plan mutation: with right check sums nothing crashes, hangs or allocates") {
  CheckMutations(Rich());
  if (kHasWorkers) CheckMutations(Pipeline());
}

TEST_CASE("Plan mutation: many tables that share one vector are refused, not walked") {
  PlanSpec spec = Rich();
  for (int i = 0; i < 2000; ++i) spec.AddOp({0}, {spec.AddTensor(1, {})});
  const uint32_t long_one = spec.AddTensor(1, std::vector<int32_t>(4000, 1));
  auto file = spec.Write();
  // Every op's inputs become the longest vector in the file.
  auto* ops = const_cast<flatbuffers::Vector<flatbuffers::Offset<plan::Op>>*>(
      plan::GetPlan(file.data())->programs()->Get(0)->ops());
  const auto* longest = reinterpret_cast<const uint8_t*>(
      plan::GetPlan(file.data())->programs()->Get(0)->tensors()->Get(long_one)->dims());
  int shared = 0;
  for (flatbuffers::uoffset_t i = 0; i < ops->size(); ++i) {
    auto* op = reinterpret_cast<flatbuffers::Table*>(ops->GetMutableObject(i));
    auto* field = op->GetAddressOf(plan::Op::VT_INPUTS);
    REQUIRE(longest > field);  // offsets only point forwards
    const auto offset = static_cast<uint32_t>(longest - field);
    std::memcpy(field, &offset, 4);
    ++shared;
  }
  REQUIRE(shared > 1000);
  Seal(file);
  const auto view = PlanView::Open(Span<const uint8_t>(file.data(), file.size()));
  REQUIRE(view.ok());
  CHECK(PlanCheckScratchBytes(*view) == 0);
  CHECK(Check(*view).find("too many references") != std::string::npos);
}

TEST_CASE("Plan mutation: many offsets to one table are refused, not walked") {
  PlanSpec spec = Rich();
  spec.stages.resize(4000, 0);
  spec.spaces.resize(4000, "ram");
  auto file = spec.Write();
  auto* root = const_cast<plan::Plan*>(plan::GetPlan(file.data()));
  const auto* program = reinterpret_cast<const uint8_t*>(root->programs()->Get(0));
  // The list of programs becomes the list of spaces, and each of its elements the one program.
  auto* field = reinterpret_cast<flatbuffers::Table*>(root)->GetAddressOf(plan::Plan::VT_PROGRAMS);
  auto* vector = const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(root->spaces()));
  const auto offset = static_cast<uint32_t>(vector - field);
  PutOffset(field, offset);
  for (size_t i = 0; i < spec.spaces.size(); ++i) {
    uint8_t* element = vector + 4 + 4 * i;
    REQUIRE(program > element);
    const auto to_program = static_cast<uint32_t>(program - element);
    std::memcpy(element, &to_program, 4);
  }
  // A section passes for a space: both begin with a name.
  auto* spaces = reinterpret_cast<flatbuffers::Table*>(root)->GetAddressOf(plan::Plan::VT_SPACES);
  const auto to_sections =
      static_cast<uint32_t>(reinterpret_cast<const uint8_t*>(root->sections()) - spaces);
  PutOffset(spaces, to_sections);
  Seal(file);
  REQUIRE(root->programs()->size() == 4000);
  REQUIRE(root->programs()->Get(3999)->stages()->size() == 4000);
  Subject subject;
  CHECK_FALSE(subject.Try(file).opened);
}
