// Hostile plans of Cortex-M boards, loaded and run by firmware's runtime with the kernels of their
// instruction sets, in the forms in plain C++: a plan is refused, or it runs inside its own memory.
// Meant to be run under ASan and UBSan too.
#include <algorithm>
#include <iterator>

#include "backends/cpu/kernels/cortex_m/cortex_m_table.hpp"
#include "backends/cpu/kernels/portable/portable_table.hpp"
#include "runtime/backend_api/backend.hpp"
#include "tests/fuzz/plan_attempt.hpp"
#include "tests/fuzz/plan_attempt_models.hpp"
#include "tests/fuzz/plan_spec_mutation.hpp"
#include "tests/support/made_plan.hpp"

using namespace tenon;        // NOLINT
using namespace tenon::test;  // NOLINT

/// Plans ask for arenas of any size: an allocation that fails is no error here.
extern "C" const char* __asan_default_options();                                           // NOLINT
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }  // NOLINT

namespace {

/// A kernel whose routines are in plain C++ by the id of Helium's, as plans name it.
KernelEntry AsHelium(KernelEntry kernel) {
  static std::vector<std::unique_ptr<std::string>> ids;
  std::string id = kernel.id;
  constexpr std::string_view kPlain = "cortex_m";
  id.replace(id.find(kPlain), kPlain.size(), "helium");
  kernel.id = ids.emplace_back(std::make_unique<std::string>(std::move(id)))->c_str();
  return kernel;
}

/// Kernels of both sets and the portable ones, each under the id that plans name it by.
const std::vector<KernelEntry>& AllKernels() {
  static const std::vector<KernelEntry> kernels = [] {
    std::vector<KernelEntry> list;
    for (const KernelEntry& kernel : cpu::CortexMGenericKernels()) list.push_back(AsHelium(kernel));
    for (const KernelEntry& kernel : cpu::DspKernels()) list.push_back(kernel);
    for (const KernelEntry& kernel : cpu::PortableKernels()) list.push_back(kernel);
    return list;
  }();
  return kernels;
}

Outcome TryAll(const PlanSpec& spec) {
  static const Backend kBackend = {"cpu", KernelList(AllKernels().data(), AllKernels().size()),
                                   nullptr, nullptr};
  return Try(spec.Write(), reinterpret_cast<const tenon_backend*>(&kBackend));
}

/// Plans of both boards, of which the last two have ops that work in place.
const std::vector<PlanSpec>& Originals() {
  static const std::vector<PlanSpec> specs = [] {
    std::vector<PlanSpec> list;
    for (const char* board : {"cortex-m55", "cortex-m7"}) {
      list.push_back(ReadSpec(MakePlan(kQuantizedNet, "", board).plan));
    }
    for (const char* board : {"cortex-m55-tight", "cortex-m7-tight"}) {
      list.push_back(ReadSpec(MakePlan(kInPlaceNet, "", board).plan));
    }
    // So that changes can give any op any kernel.
    for (PlanSpec& spec : list) {
      for (const KernelEntry& kernel : AllKernels()) {
        if (kernel.row->kind == OpKind::kQuantizedConv) spec.kernels.emplace_back(kernel.id);
      }
    }
    return list;
  }();
  return specs;
}

size_t CountNamed(const PlanSpec& spec, std::string_view part) {
  size_t count = 0;
  for (const OpSpec& op : spec.ops) {
    count += spec.kernels[op.kernel].find(part) != std::string::npos ? 1 : 0;
  }
  return count;
}

}  // namespace

TEST_CASE("Cortex-M plan mutation: plans name both sets, in place too, and run") {
  const std::vector<PlanSpec>& originals = Originals();
  REQUIRE(originals.size() == 4);
  for (size_t i = 0; i < originals.size(); ++i) {
    const Outcome outcome = TryAll(originals[i]);
    CHECK(outcome.error == "");
    CHECK(outcome.ran);
    CHECK(CountNamed(originals[i], i % 2 == 0 ? ".helium" : ".dsp") >= 4);
    CHECK((CountNamed(originals[i], "_in_place") >= 2) == (i >= 2));
  }
}

TEST_CASE("Cortex-M plan mutation: a workspace may lie anywhere that is aligned for it") {
  for (const uint64_t beyond : {16, 8, 1}) {
    CAPTURE(beyond);
    PlanSpec spec = Originals()[2];
    const auto op = std::find_if(spec.ops.begin(), spec.ops.end(),
                                 [](const OpSpec& candidate) { return candidate.workspace >= 0; });
    REQUIRE(op != spec.ops.end());
    StorageSpec& storage = spec.storages[spec.tensors[static_cast<size_t>(op->workspace)].storage];
    storage.offset = (spec.arenas[0].bytes + 15) / 16 * 16 + beyond;
    spec.arenas[0].bytes = storage.offset + storage.bytes;
    const Outcome outcome = TryAll(spec);
    CHECK(outcome.ran == (beyond == 16));
    const bool is_told = outcome.error.find("workspace is not aligned") != std::string::npos;
    CHECK(is_told == (beyond != 16));
  }
}

TEST_CASE("Cortex-M plan mutation: an input is handed over as a row-major array or not at all") {
  PlanSpec spec = Originals()[0];
  TensorSpec& input = spec.tensors[spec.inputs[0].tensor];
  REQUIRE(input.dims.size() == 4);
  std::swap(input.dims[1], input.dims[3]);
  std::swap(input.strides[1], input.strides[3]);
  const Outcome outcome = TryAll(spec);
  CHECK(!outcome.loaded);
  CHECK_MESSAGE(outcome.error.find("is not a row-major array") != std::string::npos, outcome.error);

  spec = Originals()[0];
  spec.outputs.push_back(spec.outputs[0]);
  const Outcome twice = TryAll(spec);
  CHECK_MESSAGE(twice.error.find("array of its own") != std::string::npos, twice.error);
}

TEST_CASE("Cortex-M plan mutation: whatever a plan says, it is refused or runs inside its memory") {
  const std::vector<PlanSpec>& originals = Originals();
  std::mt19937 random(21);
  int loaded = 0;
  int ran = 0;
  for (int i = 0; i < 12000; ++i) {
    CAPTURE(i);
    PlanSpec spec = originals[random() % originals.size()];
    for (size_t k = 1 + random() % 3; k > 0; --k) MutateAnything(spec, random);
    const Outcome outcome = TryAll(spec);
    loaded += outcome.loaded ? 1 : 0;
    ran += outcome.ran ? 1 : 0;
  }
  MESSAGE(loaded << " loaded, " << ran << " ran");
  CHECK(loaded > 1000);
  CHECK(ran > 500);
}

TEST_CASE("Cortex-M plan mutation: moved tensors and other kernels are refused or change nothing") {
  const std::vector<PlanSpec>& originals = Originals();
  std::vector<Outcome> wanted;
  for (const PlanSpec& spec : originals) wanted.push_back(TryAll(spec));
  std::mt19937 random(22);
  int ran = 0;
  for (int i = 0; i < 6000; ++i) {
    CAPTURE(i);
    const size_t which = random() % originals.size();
    PlanSpec spec = originals[which];
    for (size_t k = 1 + random() % 2; k > 0; --k) MutatePlacement(spec, random);
    const Outcome outcome = TryAll(spec);
    if (!outcome.ran) continue;
    ++ran;
    CHECK(outcome.outputs == wanted[which].outputs);
  }
  MESSAGE(ran << " ran");
  CHECK(ran > 500);
}
