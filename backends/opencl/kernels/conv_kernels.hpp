// The host code of convolutions and matrix products: the functions in their rows of the table,
// which are the fields of KernelEntry.
#pragma once

#include "backends/opencl/kernels/kernel_support.hpp"
#include "runtime/backend_api/kernel.hpp"
#include "runtime/base/status.hpp"

namespace tenon::opencl {

/// These serve conv.tile and conv.first; tile.hpp says how their results are closed and unloaded.
Status ConvTileLoad(const KernelSetup& setup, void** shared);
Status ConvTileOpen(const KernelSetup& setup, void* shared, void** state);
Status ConvTileRun(const KernelCall& call);

Status ConvWinogradCheck(const KernelSetup& setup);
Status ConvWinogradLoad(const KernelSetup& setup, void** shared);
Status ConvWinogradOpen(const KernelSetup& setup, void* shared, void** state);
Status ConvWinogradRun(const KernelCall& call);
void ConvWinogradClose(void* state);
void ConvWinogradUnload(void* shared);
size_t ConvWinogradHeldBytes(const void* shared, const void* state);

Status ConvDepthwiseLoad(const KernelSetup& setup, void** shared);
Status ConvDepthwiseOpen(const KernelSetup& setup, void* shared, void** state);
Status ConvDepthwiseRun(const KernelCall& call);
void ConvDepthwiseClose(void* state);
void ConvDepthwiseUnload(void* shared);
size_t ConvDepthwiseHeldBytes(const void* shared, const void* state);

ProgramChoice ConvReferenceChoice(const KernelSetup& setup);
Status ConvReferenceRun(const KernelCall& call);

Status MatMulTileCheck(const KernelSetup& setup);
Status MatMulTileLoad(const KernelSetup& setup, void** shared);
Status MatMulTileOpen(const KernelSetup& setup, void* shared, void** state);
Status MatMulTileRun(const KernelCall& call);
void MatMulTileClose(void* state);

ProgramChoice MatMulReferenceChoice(const KernelSetup& setup);
Status MatMulReferenceRun(const KernelCall& call);

}  // namespace tenon::opencl
