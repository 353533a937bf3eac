// The converter's errors as exit statuses.
#pragma once

#include "sdk/tools/tool.hpp"
#include "tenon/converter.hpp"

namespace tenon::tool {

/// `about`: what the error is about, where its message does not say; may be empty.
[[noreturn]] inline void FailWith(const ConvertError& error, const std::string& about = "") {
  Exit exit = kDeviceFailure;
  switch (error.kind) {
    case ConvertError::Kind::kUsage:
      exit = kUsage;
      break;
    case ConvertError::Kind::kInput:
      exit = kInputRefused;
      break;
    case ConvertError::Kind::kDoesNotFit:
      exit = kDoesNotFit;
      break;
    case ConvertError::Kind::kBackend:
    case ConvertError::Kind::kInternal:
      break;
  }
  throw Failure{exit, about.empty() ? error.message : about + ": " + error.message, error.details};
}

}  // namespace tenon::tool
