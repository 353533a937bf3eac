// Divides an arena that is larger than what a device gives in one piece into several (P3).
#pragma once

#include <cstdint>

#include "converter/layout/arena_plan.hpp"
#include "converter/status.hpp"

namespace tenon::converter {

/// Makes several arenas of the same memory space of every one that has more than `most` bytes. An
/// arena is cut between storages where that is possible. Where every cut would go through one, all
/// storages through which it goes move to an arena of their own, where they keep their places
/// towards each other: so whatever was proven of storages that share bytes, or do not, still holds,
/// for any order of steps and any number of workers. That may cost bytes; `bytes` of the plan
/// counts them. Storages that an op takes over in place stay together. `most`: 0 means no limit,
/// and is rounded down to kStorageAlignment. Errors: kDoesNotFit, a storage, storages that belong
/// together, or a ring has more bytes than `most`; the message says how many.
[[nodiscard]] Status LimitArenas(int64_t most, ArenaPlan& plan);

}  // namespace tenon::converter
