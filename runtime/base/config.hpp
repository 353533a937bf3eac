// What a build of the runtime leaves out.
#pragma once

namespace tenon {

/// False with TENON_WITHOUT_DEVICES, for targets that run every op on the CPU, one input at a time:
/// plans that use devices, or pipelines, are then refused, and the code for them is left out.
#ifdef TENON_WITHOUT_DEVICES
inline constexpr bool kHasDevices = false;
#else
inline constexpr bool kHasDevices = true;
#endif

}  // namespace tenon
