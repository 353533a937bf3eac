// Every op's row, one constant each (see op_row.hpp). Naming a row links that row and no other.
#pragma once

#include "runtime/ops/op_row.hpp"

namespace tenon {

#define TENON_OP(Kind, name, number) extern const OpRow k##Kind##Row;
#include "runtime/ops/ops.inc"

}  // namespace tenon
