#include "backends/cpu/kernels/bytes/bytes_table.hpp"

#include "backends/cpu/caps/bytes_caps.hpp"
#include "backends/cpu/kernels/bytes/kernels.hpp"
#include "runtime/ops/rows.hpp"

namespace tenon::cpu {
namespace {

constexpr KernelEntry kKernels[] = {
    {"cpu.quantized_conv.bytes_depthwise", &kQuantizedConvRow, bytes::DepthwiseCheck,
     bytes::DepthwiseLoad, bytes::Open, bytes::DepthwiseRun, nullptr, bytes::Unload,
     bytes::DepthwiseBytes, bytes::DepthwisePackingKey},
};

}  // namespace

Span<const KernelEntry> BytesKernels() { return kKernels; }

}  // namespace tenon::cpu
