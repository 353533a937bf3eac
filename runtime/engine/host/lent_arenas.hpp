// Arenas that lie in memory of a device which the host sees too, so that both work on one.
#pragma once

#include <cstddef>
#include <memory>

#include "runtime/base/status.hpp"
#include "runtime/engine/loaded_plan.hpp"

namespace tenon {

/// What devices lend for one execution of a plan. It goes back with the object, which must not
/// outlive the loaded plan, unless it is leaked.
class LentArenas {
 public:
  LentArenas() = default;
  LentArenas(const LentArenas&) = delete;
  LentArenas& operator=(const LentArenas&) = delete;
  ~LentArenas();

  /// Asks for each arena that a segment's code reaches, the device of that segment. What a device
  /// does not lend is not lent: the host has its memory then, and the device a copy. Once per
  /// object. Errors: kOutOfMemory (of the host, for the list).
  Status Borrow(const LoadedPlan& plan);
  /// Where the arena lies; null: it is not lent.
  [[nodiscard]] void* base(size_t arena) const {
    return loans_ == nullptr ? nullptr : loans_[arena].base;
  }
  /// Gives nothing back, because a device may still write there, or is closed.
  void Leak() { loans_.reset(); }

 private:
  struct Loan {
    void* base = nullptr;
    const DeviceApi* api = nullptr;
    void* device = nullptr;
  };

  std::unique_ptr<Loan[]> loans_;
  size_t count_ = 0;
};

}  // namespace tenon
