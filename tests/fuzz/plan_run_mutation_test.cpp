// Hostile plans, loaded and run with every kernel: a plan is refused, or it runs inside its own
// memory and in the time that its work takes. Meant to be run under ASan and UBSan too: arenas,
// inputs, outputs and the file lie in blocks of exactly their size. With firmware's runtime too.
#include "tests/fuzz/plan_attempt.hpp"
#include "tests/fuzz/plan_attempt_models.hpp"
#include "tests/fuzz/plan_spec_mutation.hpp"
#include "tests/support/windows_in_place.hpp"
#ifdef TENON_FIRMWARE
#include "tests/support/made_plan.hpp"
#else
#include "converter/ir/text.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/support/random_graph.hpp"
#endif

using namespace tenon;        // NOLINT
using namespace tenon::test;  // NOLINT

/// Plans ask for arenas of any size: an allocation that fails is no error here.
extern "C" const char* __asan_default_options();                                           // NOLINT
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }  // NOLINT

namespace {

#ifdef TENON_FIRMWARE

std::vector<uint8_t> ConvertText(const char* text) { return MakePlan(text).plan; }
std::vector<uint8_t> ConvertRandom(uint64_t seed) {
  return RunPlanMaker("x86-64 random " + std::to_string(seed)).plan;
}

#else

std::vector<uint8_t> Convert(converter::Graph graph) {
  auto conversion = converter::ConvertGraph(std::move(graph), OptionsFor());
  if (!conversion.ok()) FAIL(conversion.error().message);
  return conversion->plan;
}

std::vector<uint8_t> ConvertText(const char* text) {
  auto graph = converter::ParseGraph(text);
  if (!graph.ok()) FAIL(graph.error().message);
  return Convert(std::move(*graph));
}
std::vector<uint8_t> ConvertRandom(uint64_t seed) { return Convert(RandomGraph(seed)); }

#endif

std::vector<PlanSpec> Originals() {
  std::vector<PlanSpec> specs;
  for (const char* text :
       {kConvNet, kMatMulNet, kMovingNet, kGatherNet, kQuantizedNet, kStateNet}) {
    specs.push_back(ReadSpec(ConvertText(text)));
  }
  for (uint64_t seed = 1; seed <= 4; ++seed) specs.push_back(ReadSpec(ConvertRandom(seed)));
  return specs;
}

}  // namespace

TEST_CASE("Plan run mutation: one state of the net with states is a window in its place") {
  CHECK(WindowsInPlace(ConvertText(kStateNet)) == 1);
}

TEST_CASE("Plan run mutation: plans that are only rewritten run as before") {
  for (const PlanSpec& spec : Originals()) {
    for (const bool portable : {false, true}) {
      const Outcome outcome = Try(spec.Write(), portable);
      CHECK(outcome.error == "");
      CHECK(outcome.ran);
    }
  }
}

TEST_CASE("Plan run mutation: whatever a plan says, it is refused or runs inside its memory") {
  const std::vector<PlanSpec> originals = Originals();
  std::mt19937 random(11);
  int loaded = 0;
  int ran = 0;
  for (int i = 0; i < 16000; ++i) {
    CAPTURE(i);
    PlanSpec spec = originals[random() % originals.size()];
    for (size_t k = 1 + random() % 3; k > 0; --k) MutateAnything(spec, random);
    const Outcome outcome = Try(spec.Write(), random() % 3 == 0);
    loaded += outcome.loaded ? 1 : 0;
    ran += outcome.ran ? 1 : 0;
  }
  MESSAGE(loaded << " loaded, " << ran << " ran");
  CHECK(loaded > 1000);
  CHECK(ran > 500);
}

TEST_CASE("Plan run mutation: moved tensors, hand-overs and steps are refused or change nothing") {
  const std::vector<PlanSpec> originals = Originals();
  std::vector<Outcome> wanted[2];
  for (const PlanSpec& spec : originals) {
    for (const bool portable : {false, true}) {
      wanted[portable ? 1 : 0].push_back(Try(spec.Write(), portable));
    }
  }
  std::mt19937 random(12);
  int ran = 0;
  for (int i = 0; i < 6000; ++i) {
    CAPTURE(i);
    const size_t which = random() % originals.size();
    PlanSpec spec = originals[which];
    for (size_t k = 1 + random() % 2; k > 0; --k) MutatePlacement(spec, random);
    // Kernels of different kinds round differently, and one without its workspace is replaced; the
    // portable ones are always the same.
    const bool portable = random() % 2 == 0;
    for (size_t k = 0; k < spec.ops.size() && !portable; ++k) {
      spec.ops[k].kernel = originals[which].ops[k].kernel;
      spec.ops[k].workspace = originals[which].ops[k].workspace;
    }
    const Outcome outcome = Try(spec.Write(), portable);
    if (!outcome.ran) continue;
    ++ran;
    CHECK(outcome.outputs == wanted[portable ? 1 : 0][which].outputs);
  }
  MESSAGE(ran << " ran");
  CHECK(ran > 500);
}

TEST_CASE("Plan run mutation: flipped, swapped and cut bytes are refused or run") {
  const std::vector<PlanSpec> originals = Originals();
  std::mt19937 random(13);
  int loaded = 0;
  for (int i = 0; i < 8000; ++i) {
    CAPTURE(i);
    std::vector<uint8_t> file = originals[random() % originals.size()].Write();
    const size_t header = HeaderPosition(file);
    const size_t header_bytes = HeaderOf(file)->bytes();
    const size_t at = random() % header_bytes;
    const size_t other = random() % header_bytes;
    switch (random() % 4) {
      case 0:
        file[at] ^= static_cast<uint8_t>(1U << (random() % 8));
        break;
      case 1:
        file[at] = static_cast<uint8_t>(random());
        break;
      case 2:
        std::swap_ranges(file.begin() + static_cast<ptrdiff_t>(at / 4 * 4),
                         file.begin() + static_cast<ptrdiff_t>(at / 4 * 4 + 4),
                         file.begin() + static_cast<ptrdiff_t>(other / 4 * 4));
        break;
      default:
        file.resize(random() % file.size());
        break;
    }
    if (header + sizeof(plan::FileHeader) <= file.size()) SealAt(file, header);
    loaded += Try(file, random() % 3 == 0).loaded ? 1 : 0;
  }
  MESSAGE(loaded << " loaded");
  CHECK(loaded > 200);
}
