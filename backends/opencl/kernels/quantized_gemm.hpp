// What the kernels of quantized convolutions and matrix products share.
#pragma once

#include <string>

#include "backends/opencl/kernels/kernel_support.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::opencl {

/// Options of a program whose results are those of a quantized output.
[[nodiscard]] std::string QuantizedOptions(const QuantizedOutput& output);

ProgramChoice QuantizedConvReferenceChoice(const KernelSetup& setup);
Status QuantizedConvReferenceRun(const KernelCall& call);
ProgramChoice QuantizedMatMulReferenceChoice(const KernelSetup& setup);
Status QuantizedMatMulReferenceRun(const KernelCall& call);

// By register tiles; the results of Load are LoadedOps.
Status QuantizedConvTileLoad(const KernelSetup& setup, void** shared);
Status QuantizedConvTileRun(const KernelCall& call);
Status QuantizedDepthwiseLoad(const KernelSetup& setup, void** shared);
Status QuantizedDepthwiseRun(const KernelCall& call);
Status QuantizedMatMulTileLoad(const KernelSetup& setup, void** shared);
Status QuantizedMatMulTileRun(const KernelCall& call);

}  // namespace tenon::opencl
