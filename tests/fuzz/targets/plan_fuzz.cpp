// Plans through the reader, the check and one run on the CPU's kernels: each is refused, or runs
// inside memory of exactly the sizes that it asks for.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "tests/fuzz/plan_attempt.hpp"
#include "tests/fuzz/plan_spec_mutation.hpp"
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
  if (random() % 4 == 0) return tenon::fuzz::MutateBytes(data, bytes, most);
  const std::vector<uint8_t> file(data, data + bytes);
  const tenon::fuzz::AlignedCopy copy(data, bytes);
  const auto view = tenon::PlanView::Open(copy.span());
  if (!view.ok() || view->program_count() == 0) {
    return tenon::fuzz::MutateBytes(data, bytes, most);
  }
  tenon::test::PlanSpec spec = tenon::test::ReadSpec(file);
  if (!HasWhatIsChanged(spec)) return tenon::fuzz::MutateBytes(data, bytes, most);
  for (size_t count = 1 + random() % 3; count > 0; --count) {
    tenon::test::MutateAnything(spec, random);
  }
  const std::vector<uint8_t> changed = spec.Write();
  if (changed.size() > most) return tenon::fuzz::MutateBytes(data, bytes, most);
  std::memcpy(data, changed.data(), changed.size());
  return changed.size();
}
