// All ops by kind and by name. Host only: a firmware image reaches rows through its kernels.
#pragma once

#include "runtime/ops/op_row.hpp"

namespace tenon {

/// Row of `kind`; `kind` must be valid. Its host part: GetOpHostRow (host/op_host_row.hpp).
[[nodiscard]] const OpRow& GetOpRow(OpKind kind);

/// Row called `name`, or null.
[[nodiscard]] const OpRow* FindOpRow(const char* name);

}  // namespace tenon
