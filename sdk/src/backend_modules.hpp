// Backends that the shared library looks for when a program first asks for them.
#pragma once

#include "tenon/tenon.h"

namespace tenon::sdk {

/// The backend in "libtenon_backend_opencl" or "_fpga" of this version, which lies beside the
/// shared library or where the system looks; nullptr if it is not there, or what it needs is not (a
/// device's driver). Stays loaded. Any thread, at any time.
[[nodiscard]] const tenon_backend* OpenclModule();
[[nodiscard]] const tenon_backend* FpgaModule();

}  // namespace tenon::sdk
