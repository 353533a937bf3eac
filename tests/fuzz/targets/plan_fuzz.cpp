// Plans through the reader, the check and one run on the CPU's kernels: each is refused, or runs
// inside memory of exactly the sizes that it asks for.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "tests/fuzz/plan_attempt.hpp"
#include "tests/fuzz/plan_spec_mutation.hpp"
#include "tests/fuzz/targets/plan_changes.hpp"
#include "tests/fuzz/targets/plan_mutator.hpp"

namespace {

/// What Attempt checks must hold: the memory that plans take is bounded by their size.
void PrepareChecks() {
  static doctest::Context context;
  context.setAsDefaultForAssertsOutOfTestCases();
  context.setAssertHandler([](const doctest::AssertData& data) {
    if (data.m_failed) {
      std::fprintf(stderr, "%s:%d: %s\n", data.m_file, data.m_line, data.m_expr);
      std::abort();
    }
  });
}

/// True if there is one at least of all that changes pick from.
bool HasWhatIsChanged(const tenon::test::PlanSpec& spec) {
  for (const tenon::test::OpSpec& op : spec.ops) {
    if (op.outputs.empty()) return false;
  }
  return !spec.tensors.empty() && !spec.storages.empty() && !spec.ops.empty() &&
         !spec.arenas.empty() && !spec.workers.empty() && !spec.workers[0].empty() &&
         !spec.segments.empty() && !spec.stages.empty() && !spec.kernels.empty() &&
         !spec.outputs.empty();
}

/// Reads a plan that the reader takes and that has what changes pick from.
bool ReadChangeable(const uint8_t* data, size_t bytes, tenon::test::PlanSpec& spec) {
  const tenon::fuzz::AlignedCopy copy(data, bytes);
  const auto view = tenon::PlanView::Open(copy.span());
  if (!view.ok() || view->program_count() == 0) return false;
  spec = tenon::test::ReadSpec(std::vector<uint8_t>(data, data + bytes));
  return HasWhatIsChanged(spec);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  PrepareChecks();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  if (bytes == 0) return 0;
  const std::vector<uint8_t> file(data, data + bytes);
  (void)tenon::test::Attempt(file, tenon_backend_cpu_portable()).Run(7);
  (void)tenon::test::Attempt(file, tenon_backend_cpu()).Run(7);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t bytes, size_t most, unsigned seed) {
  std::mt19937 random(seed);
  tenon::test::PlanSpec spec;
  if (random() % 4 == 0 || !ReadChangeable(data, bytes, spec)) {
    return tenon::fuzz::MutateBytes(data, bytes, most);
  }
  for (size_t count = 1 + random() % 3; count > 0; --count) {
    switch (random() % 4) {
      case 0:
        tenon::fuzz::ChangePlan(spec, random);
        break;
      case 1:
        tenon::test::MutateSchedule(spec, random);
        break;
      default:
        tenon::test::MutateAnything(spec, random);
        break;
    }
    if (!HasWhatIsChanged(spec)) break;
  }
  const std::vector<uint8_t> changed = spec.Write();
  if (changed.size() > most) return tenon::fuzz::MutateBytes(data, bytes, most);
  std::memcpy(data, changed.data(), changed.size());
  return changed.size();
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* first, size_t first_bytes,
                                            const uint8_t* second, size_t second_bytes,
                                            uint8_t* out, size_t most, unsigned /*seed*/) {
  tenon::test::PlanSpec spec;
  tenon::test::PlanSpec other;
  if (!ReadChangeable(first, first_bytes, spec) || !ReadChangeable(second, second_bytes, other)) {
    return 0;
  }
  tenon::fuzz::Graft(spec).Add(other);
  const std::vector<uint8_t> joined = spec.Write();
  // Large plans take long, and are grafted onto others in turn.
  constexpr size_t kMostJoined = 16384;
  if (joined.size() > most || joined.size() > kMostJoined) return 0;
  std::memcpy(out, joined.data(), joined.size());
  return joined.size();
}
