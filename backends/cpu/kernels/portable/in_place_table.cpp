#include "backends/cpu/kernels/portable/kernels.hpp"
#include "backends/cpu/kernels/portable/portable_table.hpp"
#include "runtime/ops/rows.hpp"

namespace tenon::cpu {

constexpr uint32_t kInput = 1U << 0;

extern "C" {
extern const KernelEntry tenon_kernel_cpu_conv_portable_in_place;
const KernelEntry tenon_kernel_cpu_conv_portable_in_place = {"cpu.conv.portable_in_place",
                                                             &kConvRow,
                                                             portable::ConvInPlaceCheck,
                                                             nullptr,
                                                             nullptr,
                                                             portable::ConvInPlaceRun,
                                                             nullptr,
                                                             nullptr,
                                                             nullptr,
                                                             nullptr,
                                                             kInput};

extern const KernelEntry tenon_kernel_cpu_quantized_conv_portable_in_place;
const KernelEntry tenon_kernel_cpu_quantized_conv_portable_in_place = {
    "cpu.quantized_conv.portable_in_place",
    &kQuantizedConvRow,
    portable::QuantizedConvInPlaceCheck,
    nullptr,
    nullptr,
    portable::QuantizedConvInPlaceRun,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    kInput};
}

namespace {

constexpr const KernelEntry* kKernels[] = {
    &tenon_kernel_cpu_conv_portable_in_place,
    &tenon_kernel_cpu_quantized_conv_portable_in_place,
};

}  // namespace

KernelList PortableInPlaceKernels() { return {kKernels, sizeof kKernels / sizeof *kKernels}; }

}  // namespace tenon::cpu
