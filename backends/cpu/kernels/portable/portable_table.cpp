#include "backends/cpu/kernels/portable/portable_table.hpp"

#include <iterator>

#include "backends/cpu/kernels/portable/kernels.hpp"
#include "runtime/ops/rows.hpp"

/// The kernel `id`, made of portable::<op>Check and portable::<op>Run, under its link name (see
/// docs/firmware.md).
#define TENON_PORTABLE_KERNEL(symbol, id, row, op)                   \
  extern "C" {                                                       \
  extern const KernelEntry symbol;                                   \
  const KernelEntry symbol = {id,      &row,    portable::op##Check, \
                              nullptr, nullptr, portable::op##Run,   \
                              nullptr, nullptr, nullptr};            \
  }                                                                  \
  static_assert(true, "takes the semicolon")

namespace tenon::cpu {

TENON_PORTABLE_KERNEL(tenon_kernel_cpu_conv_portable, "cpu.conv.portable", kConvRow, Conv);
TENON_PORTABLE_KERNEL(tenon_kernel_cpu_matmul_portable, "cpu.matmul.portable", kMatMulRow, MatMul);
TENON_PORTABLE_KERNEL(tenon_kernel_cpu_max_pool_portable, "cpu.max_pool.portable", kMaxPoolRow,
                      MaxPool);
TENON_PORTABLE_KERNEL(tenon_kernel_cpu_average_pool_portable, "cpu.average_pool.portable",
                      kAveragePoolRow, AveragePool);
TENON_PORTABLE_KERNEL(tenon_kernel_cpu_unary_portable, "cpu.unary.portable", kUnaryRow, Unary);
TENON_PORTABLE_KERNEL(tenon_kernel_cpu_binary_portable, "cpu.binary.portable", kBinaryRow, Binary);
TENON_PORTABLE_KERNEL(tenon_kernel_cpu_select_portable, "cpu.select.portable", kSelectRow, Select);
TENON_PORTABLE_KERNEL(tenon_kernel_cpu_reduce_portable, "cpu.reduce.portable", kReduceRow, Reduce);
TENON_PORTABLE_KERNEL(tenon_kernel_cpu_softmax_portable, "cpu.softmax.portable", kSoftmaxRow,
                      Softmax);
TENON_PORTABLE_KERNEL(tenon_kernel_cpu_lrn_portable, "cpu.lrn.portable", kLrnRow, Lrn);
TENON_PORTABLE_KERNEL(tenon_kernel_cpu_concat_portable, "cpu.concat.portable", kConcatRow, Concat);
TENON_PORTABLE_KERNEL(tenon_kernel_cpu_slice_portable, "cpu.slice.portable", kSliceRow, Slice);
TENON_PORTABLE_KERNEL(tenon_kernel_cpu_pad_portable, "cpu.pad.portable", kPadRow, Pad);
TENON_PORTABLE_KERNEL(tenon_kernel_cpu_reshape_portable, "cpu.reshape.portable", kReshapeRow,
                      Reshape);
TENON_PORTABLE_KERNEL(tenon_kernel_cpu_transpose_portable, "cpu.transpose.portable", kTransposeRow,
                      Transpose);
TENON_PORTABLE_KERNEL(tenon_kernel_cpu_expand_portable, "cpu.expand.portable", kExpandRow, Expand);
TENON_PORTABLE_KERNEL(tenon_kernel_cpu_resize_portable, "cpu.resize.portable", kResizeRow, Resize);
TENON_PORTABLE_KERNEL(tenon_kernel_cpu_gather_portable, "cpu.gather.portable", kGatherRow, Gather);
TENON_PORTABLE_KERNEL(tenon_kernel_cpu_cast_portable, "cpu.cast.portable", kCastRow, Cast);
TENON_PORTABLE_KERNEL(tenon_kernel_cpu_copy_portable, "cpu.copy.portable", kCopyRow, Copy);
TENON_PORTABLE_KERNEL(tenon_kernel_cpu_quantize_portable, "cpu.quantize.portable", kQuantizeRow,
                      Quantize);
TENON_PORTABLE_KERNEL(tenon_kernel_cpu_dequantize_portable, "cpu.dequantize.portable",
                      kDequantizeRow, Dequantize);
TENON_PORTABLE_KERNEL(tenon_kernel_cpu_lookup_portable, "cpu.lookup.portable", kLookupRow, Lookup);
TENON_PORTABLE_KERNEL(tenon_kernel_cpu_quantized_conv_portable, "cpu.quantized_conv.portable",
                      kQuantizedConvRow, QuantizedConv);
TENON_PORTABLE_KERNEL(tenon_kernel_cpu_quantized_matmul_portable, "cpu.quantized_matmul.portable",
                      kQuantizedMatMulRow, QuantizedMatMul);
TENON_PORTABLE_KERNEL(tenon_kernel_cpu_quantized_binary_portable, "cpu.quantized_binary.portable",
                      kQuantizedBinaryRow, QuantizedBinary);
TENON_PORTABLE_KERNEL(tenon_kernel_cpu_quantized_average_pool_portable,
                      "cpu.quantized_average_pool.portable", kQuantizedAveragePoolRow,
                      QuantizedAveragePool);
TENON_PORTABLE_KERNEL(tenon_kernel_cpu_quantized_reduce_portable, "cpu.quantized_reduce.portable",
                      kQuantizedReduceRow, QuantizedReduce);
TENON_PORTABLE_KERNEL(tenon_kernel_cpu_quantized_softmax_portable, "cpu.quantized_softmax.portable",
                      kQuantizedSoftmaxRow, QuantizedSoftmax);

namespace {

constexpr const KernelEntry* kKernels[] = {
    &tenon_kernel_cpu_conv_portable,
    &tenon_kernel_cpu_matmul_portable,
    &tenon_kernel_cpu_max_pool_portable,
    &tenon_kernel_cpu_average_pool_portable,
    &tenon_kernel_cpu_unary_portable,
    &tenon_kernel_cpu_binary_portable,
    &tenon_kernel_cpu_select_portable,
    &tenon_kernel_cpu_reduce_portable,
    &tenon_kernel_cpu_softmax_portable,
    &tenon_kernel_cpu_lrn_portable,
    &tenon_kernel_cpu_concat_portable,
    &tenon_kernel_cpu_slice_portable,
    &tenon_kernel_cpu_pad_portable,
    &tenon_kernel_cpu_reshape_portable,
    &tenon_kernel_cpu_transpose_portable,
    &tenon_kernel_cpu_expand_portable,
    &tenon_kernel_cpu_resize_portable,
    &tenon_kernel_cpu_gather_portable,
    &tenon_kernel_cpu_cast_portable,
    &tenon_kernel_cpu_copy_portable,
    &tenon_kernel_cpu_quantize_portable,
    &tenon_kernel_cpu_dequantize_portable,
    &tenon_kernel_cpu_lookup_portable,
    &tenon_kernel_cpu_quantized_conv_portable,
    &tenon_kernel_cpu_quantized_matmul_portable,
    &tenon_kernel_cpu_quantized_binary_portable,
    &tenon_kernel_cpu_quantized_average_pool_portable,
    &tenon_kernel_cpu_quantized_reduce_portable,
    &tenon_kernel_cpu_quantized_softmax_portable,
};

}  // namespace

KernelList PortableKernels() { return {kKernels, std::size(kKernels)}; }

}  // namespace tenon::cpu
