// Says whether kernels that step through memory element by element may run an op.
#pragma once

#include "runtime/ops/op_row.hpp"

namespace tenon::cpu {

/// Returns true if all inputs of an op and its only output lie row-major.
[[nodiscard]] inline bool HasRowMajorOperands(const OpCall& op) {
  for (int i = 0; i < op.InputCount(); ++i) {
    if (op.HasInput(i) && !op.Input(i).IsRowMajor()) return false;
  }
  return op.Output().IsRowMajor();
}

}  // namespace tenon::cpu
