#include "backends/cpu/kernels/quantized/quantized_table.hpp"

#include "backends/cpu/caps/quantized_caps.hpp"

namespace tenon::cpu {

Span<const KernelEntry> QuantizedKernels() { return {}; }

}  // namespace tenon::cpu
