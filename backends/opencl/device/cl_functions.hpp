// The OpenCL 1.2 functions that this backend calls, found when the program runs: a program that has
// this backend built in starts, and runs plans of other backends, where no OpenCL is installed.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

namespace tenon::opencl {

// clCreateCommandQueue, not ...WithProperties: the latter is not in OpenCL 1.2.
// The formatter takes the list for calls.
// clang-format off
#define TENON_OPENCL_FUNCTIONS(X) \
  X(GetPlatformIDs) X(GetPlatformInfo) X(GetDeviceIDs) X(GetDeviceInfo) X(CreateSubDevices) \
  X(CreateContext) X(ReleaseContext) X(CreateCommandQueue) \
  X(ReleaseCommandQueue) X(CreateBuffer) X(ReleaseMemObject) X(CreateProgramWithSource) \
  X(CreateProgramWithBinary) X(BuildProgram) X(GetProgramInfo) X(GetProgramBuildInfo) \
  X(ReleaseProgram) X(CreateKernel) X(ReleaseKernel) X(SetKernelArg) X(GetKernelWorkGroupInfo) \
  X(EnqueueNDRangeKernel) X(EnqueueReadBuffer) X(EnqueueWriteBuffer) X(EnqueueReadBufferRect) \
  X(EnqueueWriteBufferRect) X(EnqueueMapBuffer) X(EnqueueUnmapMemObject) \
  X(EnqueueMarkerWithWaitList) X(EnqueueBarrierWithWaitList) X(Flush) X(Finish) X(GetEventInfo) \
  X(WaitForEvents) X(SetEventCallback) X(ReleaseEvent) X(RetainEvent) X(CreateUserEvent) X(SetUserEventStatus)
// clang-format on

/// Each member has the name of its function without "cl".
struct ClFunctions {
#define TENON_OPENCL_MEMBER(name) decltype(&::cl##name) name = nullptr;
  TENON_OPENCL_FUNCTIONS(TENON_OPENCL_MEMBER)
#undef TENON_OPENCL_MEMBER
};

/// Returns the library's functions, which it looks for once: TENON_OPENCL_LIBRARY names the
/// library, else it is the ICD loader. Null if there is none or it lacks a function. Any thread may
/// call it.
[[nodiscard]] const ClFunctions* FindClFunctions();

/// Returns the functions that this backend calls; FindClFunctions must have found some before. Any
/// thread may call it.
[[nodiscard]] const ClFunctions& Cl();

/// Replaces the library's functions, to count calls or to make them fail; null restores them. The
/// functions must outlive every call, and no other thread may use this backend meanwhile.
void InterceptClFunctions(const ClFunctions* functions);

}  // namespace tenon::opencl
