// Calls of XRT that fail: the linker sends the driver's calls here first (CMakeLists.txt, --wrap).
#pragma once

#include <string>

namespace tenon::test {

/// How a call of XRT may fail.
enum class XrtFailure {
  kSystemError,  ///< as XRT reports what the driver in the kernel answered
  kBadAlloc,
  kUnknown,  ///< something that is no exception of the standard library
};

/// Has call number `number` from now on fail; 0: none. Counted are the calls of the function whose
/// mangled name contains `function`, a string that stays valid; null: of every one.
void FailXrtCall(int number, XrtFailure failure, const char* function = nullptr);
/// The name of the one that failed; empty if none has.
[[nodiscard]] std::string FailedXrtCall();

}  // namespace tenon::test
