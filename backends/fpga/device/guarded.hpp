// Where this backend begins, exceptions end.
#pragma once

#include <new>

#include "runtime/base/status.hpp"

namespace tenon::fpga {

/// Calls a function for the engine, which is built without exceptions and has callers in C: what
/// the standard library's containers throw becomes a Status.
///
///   Guarded<OpenDevice>::Call(threads, &device)
template <auto function>
struct Guarded;

template <typename... Arguments, Status (*function)(Arguments...)>
struct Guarded<function> {
  static Status Call(Arguments... arguments) noexcept {
    try {
      return function(arguments...);
    } catch (const std::bad_alloc&) {
      return Status(StatusCode::kOutOfMemory, "no memory for the FPGA backend");
    } catch (...) {
      return Status(StatusCode::kBackendFailure, "the FPGA backend has failed on the host");
    }
  }
};

}  // namespace tenon::fpga
