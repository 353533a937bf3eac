// Constants that say what a build of the runtime leaves out.
#pragma once

namespace tenon {

/// False with TENON_FIRMWARE, for targets that run every op on the CPU, one input at a time, on one
/// thread: plans that use devices, several workers or pipelines are then refused, and the code for
/// them is left out.
#ifdef TENON_FIRMWARE
inline constexpr bool kHasDevices = false;
inline constexpr bool kHasWorkers = false;
#else
inline constexpr bool kHasDevices = true;
inline constexpr bool kHasWorkers = true;
#endif

/// False where every op runs in every run, whatever condition it has: results are the same.
inline constexpr bool kHasConditions = kHasWorkers;

/// False with TENON_WITHOUT_WORDS: errors are then a code, the number of their message and its
/// arguments; `scripts/explain.py` gives the words on a workstation.
#ifdef TENON_WITHOUT_WORDS
inline constexpr bool kHasWords = false;
#else
inline constexpr bool kHasWords = true;
#endif

}  // namespace tenon
