// All ops by kind and by name. Host only: a firmware image reaches rows through its kernels.
#pragma once

#include "runtime/ops/op_row.hpp"

namespace tenon {

/// Row of `kind`; `kind` must be valid.
[[nodiscard]] const OpRow& GetOpRow(OpKind kind);

/// How attributes of `kind` are shown; `kind` must be valid.
[[nodiscard]] const OpText& GetOpText(OpKind kind);

/// Row called `name`, or null.
[[nodiscard]] const OpRow* FindOpRow(const char* name);

}  // namespace tenon
