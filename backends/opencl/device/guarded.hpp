// Where this backend begins, exceptions end.
#pragma once

#include <new>

#include "runtime/base/status.hpp"

namespace tenon::opencl {

/// Calls a function for the engine, which is built without exceptions and has callers in C: what
/// the standard library's containers throw becomes a Status. The backends of devices, alone of the
/// runtime's parts, use such containers, and are compiled with exceptions for that.
///
///   Guarded<GatherLoad>::Call(setup, &shared)
template <auto function>
struct Guarded;

template <typename... Arguments, Status (*function)(Arguments...)>
struct Guarded<function> {
  static Status Call(Arguments... arguments) noexcept {
    try {
      return function(arguments...);
    } catch (const std::bad_alloc&) {
      return Status(StatusCode::kOutOfMemory, "no memory for the OpenCL backend");
    } catch (...) {
      return Status(StatusCode::kBackendFailure, "the OpenCL backend has failed on the host");
    }
  }
};

}  // namespace tenon::opencl
