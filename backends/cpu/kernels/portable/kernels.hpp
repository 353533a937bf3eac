// Declares the functions of every portable kernel: `<Op>Run` of each op of ops.inc, and those that
// overwrite their input. The rows of caps/portable.inc name them, so that firmware tables can name
// them one by one.
//
// All take any strides, use no heap and (except those in place) no workspace, and give the same
// bits for any number of threads. Their checks refuse exactly what `<Op>Supports`
// (caps/portable_supports.hpp) refuses.
#pragma once

#include "runtime/backend_api/kernel.hpp"
#include "runtime/base/status.hpp"

namespace tenon::cpu::portable {

#define TENON_OP(Op, name, number) Status Op##Run(const KernelCall& call);
#include "runtime/ops/ops.inc"

/// These overwrite their input, through a workspace: see caps/in_place_caps.hpp.
Status ConvInPlaceCheck(const KernelSetup& setup);
Status ConvInPlaceRun(const KernelCall& call);
Status QuantizedConvInPlaceCheck(const KernelSetup& setup);
Status QuantizedConvInPlaceRun(const KernelCall& call);

}  // namespace tenon::cpu::portable
