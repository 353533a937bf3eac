// A backend of which the kernel of one op is wrong: fast, portable or a device's, in one of several
// ways that kernels and requantisation are wrong in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/backend_api/backend.hpp"
#include "tenon/tenon.h"

namespace tenon::test {

enum class FaultKind : uint8_t {
  kStale,      ///< nothing is written: the output is what lay there
  kElement,    ///< one element is wrong; of integers, by one
  kEvery,      ///< every element is a little off, as by a wrong rounding or zero point
  kTail,       ///< the last elements are zero
  kSwapped,    ///< neighbours have changed places
  kWrapped,    ///< large values have wrapped round instead of being cut off
  kConstant,   ///< one element of a weight, bias or scale is read wrongly
  kAttribute,  ///< a word of the attributes is: an activation, a multiplier, a limit
};
inline constexpr int kFaultKinds = 8;

struct Fault {
  FaultKind kind = FaultKind::kStale;
  int32_t tensor = 0;  ///< number in the plan of what the op writes first
  uint32_t seed = 0;   ///< of what is left to chance
};

/// The good backend's kernels, one of which may have a fault. One at a time.
class FaultyBackend {
 public:
  explicit FaultyBackend(const tenon_backend* good);
  FaultyBackend(const FaultyBackend&) = delete;
  FaultyBackend& operator=(const FaultyBackend&) = delete;
  ~FaultyBackend();

  [[nodiscard]] const tenon_backend* handle() const;
  /// From the next plan that is loaded with it. A fault of constants or attributes that the kernel
  /// would refuse, or that there is no place for, is none.
  void Inject(const Fault& fault);

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace tenon::test
