// Plans through the reader, the check and one run on the CPU's kernels: each is refused, or runs
// inside memory of exactly the sizes that it asks for.
#define DOCTEST_CONFIG_IMPLEMENT
#include "tests/fuzz/plan_attempt.hpp"
#include "tests/fuzz/targets/abort_on_check.hpp"
#include "tests/fuzz/targets/plan_file_changes.hpp"

// What Attempt checks must hold: the memory that plans take is bounded by their size.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  tenon::fuzz::AbortOnFailedChecks();
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
  const size_t changed =
      tenon::fuzz::Store(tenon::fuzz::ChangedPlan(data, bytes, random), data, most);
  return changed > 0 ? changed : tenon::fuzz::MutateBytes(data, bytes, most);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* first, size_t first_bytes,
                                            const uint8_t* second, size_t second_bytes,
                                            uint8_t* out, size_t most, unsigned /*seed*/) {
  // Large plans take long, and are grafted onto others in turn.
  constexpr size_t kMostJoined = 16384;
  return tenon::fuzz::Store(tenon::fuzz::JoinedPlans(first, first_bytes, second, second_bytes), out,
                            std::min(most, kMostJoined));
}
