#include "backends/cpu/caps/quantized_caps.hpp"

namespace tenon::cpu {

Span<const KernelCaps> QuantizedCaps() { return {}; }

}  // namespace tenon::cpu
