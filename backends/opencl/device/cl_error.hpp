// Converts OpenCL's error codes to Status.
#pragma once

#include "backends/opencl/device/cl_functions.hpp"
#include "runtime/base/status.hpp"

namespace tenon::opencl {

/// Returns "CL_OUT_OF_RESOURCES", for example; "an unknown OpenCL error" for a code that 1.2 does
/// not have.
[[nodiscard]] const char* ClErrorName(cl_int code);

/// Returns a text equal to `text` that lives as long as the program, for messages of Status that
/// are composed when the error happens. Every text is kept once; after a thousand different ones,
/// new ones are one that says so. Any thread may call it.
[[nodiscard]] const char* KeepText(const char* text);

/// Returns Ok for CL_SUCCESS; else "clEnqueueReadBuffer failed: CL_OUT_OF_RESOURCES (-5)" as
/// kOutOfMemory where memory is missing, else kBackendFailure. `call` is the function's name.
[[nodiscard]] Status ClStatus(cl_int code, const char* call);

}  // namespace tenon::opencl

/// Calls an OpenCL function that returns its error code, by its name without "cl".
#define TENON_CL(name, ...) \
  ::tenon::opencl::ClStatus(::tenon::opencl::Cl().name(__VA_ARGS__), "cl" #name)
