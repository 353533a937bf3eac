// Changes of plan files that keep their check sums right, which no other change would get past.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "tests/unit/runtime/format/plan_fixture.hpp"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t bytes, size_t most);

namespace tenon::fuzz {

/// Exactly as many bytes as there are, so that the sanitizer sees the first one beyond.
class AlignedCopy {
 public:
  AlignedCopy(const uint8_t* data, size_t bytes) : bytes_(bytes) {
    void* memory = nullptr;
    if (posix_memalign(&memory, 64, bytes) != 0) std::abort();
    data_ = static_cast<uint8_t*>(memory);
    if (bytes > 0) std::memcpy(data_, data, bytes);
  }
  AlignedCopy(const AlignedCopy&) = delete;
  AlignedCopy& operator=(const AlignedCopy&) = delete;
  ~AlignedCopy() { std::free(data_); }
  [[nodiscard]] Span<uint8_t> span() const { return {data_, bytes_}; }

 private:
  uint8_t* data_ = nullptr;
  size_t bytes_;
};

/// True if the file's header can be found and its length lies in the file: what sealing writes to.
inline bool CanBeSealed(const std::vector<uint8_t>& file) {
  const AlignedCopy copy(file.data(), file.size());
  if (file.size() < 64) return false;
  flatbuffers::Verifier verifier(copy.span().data(), file.size());
  return plan::VerifyPlanBuffer(verifier) &&
         plan::GetPlan(copy.span().data())->header() != nullptr &&
         plan::GetPlan(copy.span().data())->header()->bytes() <= file.size() &&
         plan::GetPlan(copy.span().data())->header()->bytes() >= 64;
}

/// Changes bytes of the file, and mends the check sums where they can still be found.
inline size_t MutateBytes(uint8_t* data, size_t bytes, size_t most) {
  const size_t changed = LLVMFuzzerMutate(data, bytes, most);
  std::vector<uint8_t> file(data, data + changed);
  if (!CanBeSealed(file)) return changed;
  test::Seal(file);
  std::memcpy(data, file.data(), changed);
  return changed;
}

}  // namespace tenon::fuzz
