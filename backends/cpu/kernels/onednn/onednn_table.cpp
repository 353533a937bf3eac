#include "backends/cpu/kernels/onednn/onednn_table.hpp"

#include <iterator>

#include "backends/cpu/caps/onednn_caps.hpp"
#include "backends/cpu/kernels/define_kernels.hpp"
#include "backends/cpu/kernels/onednn/kernels.hpp"
#include "backends/cpu/kernels/onednn/primitive.hpp"

namespace tenon::cpu {
namespace {

constexpr KernelEntry Entry(const KernelCaps& caps, const OpRow& row, CheckFunction check,
                            LoadFunction load, RunFunction run,
                            void (*primitive_key)(const OpCall&, PackingKey*)) {
  return {caps.id,           &row,         check,         load,
          onednn::Open,      run,          onednn::Close, onednn::Unload,
          onednn::HeldBytes, primitive_key};
}

}  // namespace

#define TENON_KERNEL(...) TENON_DEFINE_KERNEL(__VA_ARGS__)
#include "backends/cpu/caps/onednn.inc"
#undef TENON_KERNEL

KernelList OneDnnKernels() {
#define TENON_KERNEL(...) TENON_KERNEL_ADDRESS(__VA_ARGS__)
  static constexpr const KernelEntry* kKernels[] = {
#include "backends/cpu/caps/onednn.inc"
  };
#undef TENON_KERNEL
  return {kKernels, std::size(kKernels)};
}

}  // namespace tenon::cpu
