// Declares the functions of every oneDNN kernel.
//
// All have the same life cycle: `load` makes the primitive, for the most threads that a run will
// use, and packs constant weights in the form that the primitive prefers; `open` makes a session's
// memory handles and, where the plan's workspace is too small for the primitive's scratch (which
// only oneDNN knows), allocates that; `run` sets pointers and executes. `held_bytes` counts what
// load and open allocate, but not oneDNN's generated code and what it allocates inside a call.
#pragma once

#include "runtime/backend_api/kernel.hpp"
#include "runtime/base/status.hpp"

namespace tenon::cpu::onednn {

Status ConvCheck(const KernelSetup& setup);
Status ConvLoad(const KernelSetup& setup, void** shared);
Status ConvRun(const KernelCall& call);

Status ConvMatMulCheck(const KernelSetup& setup);
Status ConvMatMulLoad(const KernelSetup& setup, void** shared);

Status MatMulCheck(const KernelSetup& setup);
Status MatMulLoad(const KernelSetup& setup, void** shared);

Status MaxPoolCheck(const KernelSetup& setup);
Status MaxPoolLoad(const KernelSetup& setup, void** shared);

Status AveragePoolCheck(const KernelSetup& setup);
Status AveragePoolLoad(const KernelSetup& setup, void** shared);

Status SoftmaxCheck(const KernelSetup& setup);
Status ChannelSoftmaxCheck(const KernelSetup& setup);
Status SoftmaxLoad(const KernelSetup& setup, void** shared);

Status LrnCheck(const KernelSetup& setup);
Status LrnLoad(const KernelSetup& setup, void** shared);

}  // namespace tenon::cpu::onednn
