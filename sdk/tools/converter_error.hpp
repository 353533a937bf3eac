// The converter's errors as exit statuses.
#pragma once

#include "converter/status.hpp"
#include "sdk/tools/tool.hpp"

namespace tenon::tool {

[[noreturn]] inline void FailWith(const converter::Error& error) {
  Exit exit = kDeviceFailure;
  switch (error.kind) {
    case converter::ErrorKind::kUsage:
      exit = kUsage;
      break;
    case converter::ErrorKind::kInput:
      exit = kInputRefused;
      break;
    case converter::ErrorKind::kDoesNotFit:
      exit = kDoesNotFit;
      break;
    case converter::ErrorKind::kBackend:
    case converter::ErrorKind::kInternal:
      break;
  }
  throw Failure{exit, error.message, error.details};
}

}  // namespace tenon::tool
