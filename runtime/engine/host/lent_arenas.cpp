#include "runtime/engine/host/lent_arenas.hpp"

#include <new>

namespace tenon {

LentArenas::~LentArenas() {
  for (size_t i = 0; loans_ != nullptr && i < count_; ++i) {
    const Loan& loan = loans_[i];
    if (loan.base != nullptr) loan.api->take_back_arena(loan.device, loan.base);
  }
}

Status LentArenas::Borrow(const LoadedPlan& plan) {
  const ProgramView& program = plan.program();
  for (size_t s = 0; s < program.segment_count(); ++s) {
    if (plan.code(s) == nullptr) continue;
    const size_t backend = program.segment(s).backend;
    const DeviceApi* api = plan.backend(backend)->device;
    if (api->lend_arena == nullptr) continue;
    if (loans_ == nullptr) {
      count_ = program.arena_count();
      loans_.reset(new (std::nothrow) Loan[count_]());
      TENON_ENSURE(loans_ != nullptr, kOutOfMemory, "no memory for a list of {0} arenas",
                   static_cast<int64_t>(count_));
    }
    for (size_t i = 0; i < program.segment_code(s).relocation_count; ++i) {
      const RelocationInfo reached = program.segment_relocation(s, i);
      if (reached.home != StorageHome::kArena || loans_[reached.index].base != nullptr) continue;
      const ArenaInfo arena = program.arena(reached.index);
      const ArenaWish wish = {static_cast<size_t>(ArenaBytes(arena)), arena.alignment,
                              reached.base_register};
      void* base = nullptr;
      if (!api->lend_arena(plan.device(backend), wish, &base).ok()) continue;
      loans_[reached.index] = {base, api, plan.device(backend)};
    }
  }
  return OkStatus();
}

}  // namespace tenon
