#include <new>

#include "runtime/base/round_up.hpp"
#include "runtime/engine/host/lane.hpp"

namespace tenon {

/// The sums do not wrap: loading has checked that all arenas can be addressed, alignments included.
Status LaneArenas::Allocate(const LoadedPlan& plan) {
  const ProgramView& program = plan.program();
  TENON_RETURN_IF_ERROR(lent_.Borrow(plan));
  size_t alignment = 1;
  size_t total = 0;
  bytes_ = 0;
  for (size_t i = 0; i < program.arena_count(); ++i) {
    const ArenaInfo info = program.arena(i);
    bytes_ += static_cast<size_t>(ArenaBytes(info));
    if (lent_.base(i) != nullptr) continue;
    alignment = info.alignment > alignment ? info.alignment : alignment;
    total = RoundUp(total, info.alignment) + static_cast<size_t>(ArenaBytes(info));
  }
  bases_.reset(new (std::nothrow) ArenaMemory[program.arena_count() + 1]());
  TENON_ENSURE(bases_ != nullptr && memory_.Allocate(total, alignment), kOutOfMemory,
               "no memory for arenas of {0} bytes", static_cast<int64_t>(total));
  size_t offset = 0;
  for (size_t i = 0; i < program.arena_count(); ++i) {
    const ArenaInfo info = program.arena(i);
    bases_[i] = {lent_.base(i), static_cast<size_t>(ArenaBytes(info))};
    if (bases_[i].base != nullptr) continue;
    offset = RoundUp(offset, info.alignment);
    bases_[i].base = memory_.bytes().data() + offset;
    offset += bases_[i].bytes;
  }
  return OkStatus();
}

}  // namespace tenon
