// The fast quantized kernels' rows of the CPU's capability table, and the predicates behind them,
// which the kernels' own checks share.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/caps/cpu_caps.hpp"
#include "runtime/base/span.hpp"
#include "runtime/ops/op_row.hpp"
#include "runtime/ops/packing_key.hpp"

namespace tenon::cpu {

[[nodiscard]] Span<const KernelCaps> QuantizedCaps();

}  // namespace tenon::cpu
