// Changes of whole plan files for the targets that read them: of what a plan says, or of bytes,
// with check sums that are right again.
#pragma once

#include <cstring>
#include <random>
#include <vector>

#include "tests/fuzz/plan_spec_mutation.hpp"
#include "tests/fuzz/targets/plan_changes.hpp"
#include "tests/fuzz/targets/plan_mutator.hpp"

namespace tenon::fuzz {

/// True if there is one at least of all that changes pick from.
inline bool HasWhatIsChanged(const test::PlanSpec& spec) {
  for (const test::OpSpec& op : spec.ops) {
    if (op.outputs.empty()) return false;
  }
  return !spec.tensors.empty() && !spec.storages.empty() && !spec.ops.empty() &&
         !spec.arenas.empty() && !spec.workers.empty() && !spec.workers[0].empty() &&
         !spec.segments.empty() && !spec.stages.empty() && !spec.kernels.empty() &&
         !spec.outputs.empty();
}

/// Reads a plan that the reader takes and that has what changes pick from.
inline bool ReadChangeable(const uint8_t* data, size_t bytes, test::PlanSpec& spec) {
  const AlignedCopy copy(data, bytes);
  const auto view = PlanView::Open(copy.span());
  if (!view.ok() || view->program_count() == 0) return false;
  spec = test::ReadSpec(std::vector<uint8_t>(data, data + bytes));
  return HasWhatIsChanged(spec);
}

/// Returns the plan, changed; empty where bytes are to be changed instead.
inline std::vector<uint8_t> ChangedPlan(const uint8_t* data, size_t bytes, std::mt19937& random) {
  test::PlanSpec spec;
  if (random() % 4 == 0 || !ReadChangeable(data, bytes, spec)) return {};
  for (size_t count = 1 + random() % 3; count > 0; --count) {
    switch (random() % 4) {
      case 0:
        ChangePlan(spec, random);
        break;
      case 1:
        test::MutateSchedule(spec, random);
        break;
      default:
        test::MutateAnything(spec, random);
        break;
    }
    if (!HasWhatIsChanged(spec)) break;
  }
  return spec.Write();
}

/// Both plans in one, the second after the first; empty where one of them cannot be changed.
inline std::vector<uint8_t> JoinedPlans(const uint8_t* first, size_t first_bytes,
                                        const uint8_t* second, size_t second_bytes) {
  test::PlanSpec spec;
  test::PlanSpec other;
  if (!ReadChangeable(first, first_bytes, spec) || !ReadChangeable(second, second_bytes, other)) {
    return {};
  }
  Graft(spec).Add(other);
  return spec.Write();
}

/// Copies a file that fits to where libFuzzer wants it, and returns its size; else 0.
inline size_t Store(const std::vector<uint8_t>& file, uint8_t* data, size_t most) {
  if (file.empty() || file.size() > most) return 0;
  std::memcpy(data, file.data(), file.size());
  return file.size();
}

}  // namespace tenon::fuzz
