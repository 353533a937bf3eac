// OpenCL's error codes as Status.
#pragma once

#include "backends/opencl/device/cl_functions.hpp"
#include "runtime/base/status.hpp"

namespace tenon::opencl {

/// "CL_OUT_OF_RESOURCES"; "an unknown OpenCL error" for a code that is none of 1.2's.
[[nodiscard]] const char* ClErrorName(cl_int code);

/// A text with the life of the program, equal to `text`: for messages of Status that are put
/// together when the error happens. Every text is kept once. Any thread.
[[nodiscard]] const char* KeepText(const char* text);

/// Ok for CL_SUCCESS; else "clEnqueueReadBuffer failed: CL_OUT_OF_RESOURCES (-5)" as kOutOfMemory
/// where memory is what lacks, else kBackendFailure. `call` is the function's name.
[[nodiscard]] Status ClStatus(cl_int code, const char* call);

}  // namespace tenon::opencl

/// Calls an OpenCL function that returns its error code, by its name without "cl".
#define TENON_CL(name, ...) \
  ::tenon::opencl::ClStatus(::tenon::opencl::Cl().name(__VA_ARGS__), "cl" #name)
