// What the open accelerator for FPGAs runs: pure data and predicates. There is no kernel per op: a
// segment is code (a stream of descriptors) that one start runs, and the kernels named here only
// say which ops may be part of one.
#pragma once

#include "runtime/ops/kernel_caps.hpp"

namespace tenon::fpga {

/// The kernels of backend "fpga".
[[nodiscard]] Span<const KernelCaps> Kernels();

[[nodiscard]] BackendCaps FpgaCaps();

}  // namespace tenon::fpga
