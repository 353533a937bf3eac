// Plans through the reader and the check as firmware has them.
#include "tests/fuzz/targets/plan_mutator.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  const tenon::fuzz::AlignedCopy file(data, bytes);
  const auto view = tenon::PlanView::Open(file.span());
  if (!view.ok()) return 0;
  const size_t scratch_bytes = tenon::PlanCheckScratchBytes(*view);
  // Tables in the file are a few times smaller than what describes them in memory.
  if (scratch_bytes > 16 * bytes + 65536) std::abort();
  std::vector<uint8_t> zeros(scratch_bytes);
  const tenon::fuzz::AlignedCopy scratch(zeros.data(), scratch_bytes);
  (void)tenon::CheckPlan(*view, scratch.span());
  return 0;
}
