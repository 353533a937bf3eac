// Names of dtypes in files.
#pragma once

#include <string_view>

#include "runtime/base/dtype.hpp"

namespace tenon::converter {

[[nodiscard]] inline bool IsDTypeName(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (name == DTypeName(static_cast<DType>(i))) return true;
  }
  return false;
}

}  // namespace tenon::converter
