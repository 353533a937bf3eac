// Plans loaded with kernels that a test has changed.
#pragma once

#include <vector>

#include "runtime/backend_api/backend.hpp"
#include "tests/unit/sdk/src/loaded_plan_testing.hpp"

namespace tenon::test {

/// The portable kernels, changed by a test, as a backend that names each.
class ChangedKernels {
 public:
  explicit ChangedKernels(void (*change)(KernelEntry& entry)) {
    const auto* portable = reinterpret_cast<const Backend*>(tenon_backend_cpu_portable());
    for (const KernelEntry& entry : portable->kernels) entries_.push_back(entry);
    for (KernelEntry& entry : entries_) {
      change(entry);
      addresses_.push_back(&entry);
    }
    backend_ = {"cpu", KernelList(addresses_.data(), addresses_.size()), nullptr, nullptr};
  }
  [[nodiscard]] const tenon_backend* get() const {
    return reinterpret_cast<const tenon_backend*>(&backend_);
  }

 private:
  std::vector<KernelEntry> entries_;
  std::vector<const KernelEntry*> addresses_;
  Backend backend_{};
};

inline tenon_status LoadWith(const std::vector<uint8_t>& bytes, const tenon_backend* backend,
                             tenon_error* error) {
  const PlanBytes file(bytes);
  size_t scratch_size = 0;
  size_t state_size = 0;
  REQUIRE(tenon_plan_scratch_size(file.data(), file.size(), &scratch_size, nullptr) == TENON_OK);
  REQUIRE(tenon_plan_state_size(file.data(), file.size(), &state_size, nullptr) == TENON_OK);
  Memory scratch = MakeMemory(scratch_size);
  Memory state = MakeMemory(state_size);
  const tenon_backends backends{&backend, 1};
  tenon_plan* plan = nullptr;
  const tenon_status status =
      tenon_plan_load(file.data(), file.size(), &backends, 1, state.data(), state_size,
                      scratch.data(), scratch_size, &plan, error);
  tenon_plan_unload(plan);
  return status;
}

}  // namespace tenon::test
