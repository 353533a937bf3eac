#include "backends/cpu/kernels/portable/portable_table.hpp"

#include "backends/cpu/kernels/portable/kernels.hpp"
#include "runtime/ops/rows.hpp"

namespace tenon::cpu {
namespace {

constexpr KernelEntry Entry(const char* id, const OpRow& row, Status (*check)(const KernelSetup&),
                            Status (*run)(const KernelCall&)) {
  return {id, &row, check, nullptr, nullptr, run, nullptr, nullptr, nullptr};
}

constexpr KernelEntry kKernels[] = {
    Entry("cpu.conv.portable", kConvRow, portable::ConvCheck, portable::ConvRun),
    Entry("cpu.matmul.portable", kMatMulRow, portable::MatMulCheck, portable::MatMulRun),
    Entry("cpu.max_pool.portable", kMaxPoolRow, portable::MaxPoolCheck, portable::MaxPoolRun),
    Entry("cpu.average_pool.portable", kAveragePoolRow, portable::AveragePoolCheck,
          portable::AveragePoolRun),
    Entry("cpu.unary.portable", kUnaryRow, portable::UnaryCheck, portable::UnaryRun),
    Entry("cpu.binary.portable", kBinaryRow, portable::BinaryCheck, portable::BinaryRun),
    Entry("cpu.select.portable", kSelectRow, portable::SelectCheck, portable::SelectRun),
    Entry("cpu.reduce.portable", kReduceRow, portable::ReduceCheck, portable::ReduceRun),
    Entry("cpu.softmax.portable", kSoftmaxRow, portable::SoftmaxCheck, portable::SoftmaxRun),
    Entry("cpu.lrn.portable", kLrnRow, portable::LrnCheck, portable::LrnRun),
    Entry("cpu.concat.portable", kConcatRow, portable::ConcatCheck, portable::ConcatRun),
    Entry("cpu.slice.portable", kSliceRow, portable::SliceCheck, portable::SliceRun),
    Entry("cpu.pad.portable", kPadRow, portable::PadCheck, portable::PadRun),
    Entry("cpu.reshape.portable", kReshapeRow, portable::ReshapeCheck, portable::ReshapeRun),
    Entry("cpu.transpose.portable", kTransposeRow, portable::TransposeCheck,
          portable::TransposeRun),
    Entry("cpu.expand.portable", kExpandRow, portable::ExpandCheck, portable::ExpandRun),
    Entry("cpu.resize.portable", kResizeRow, portable::ResizeCheck, portable::ResizeRun),
    Entry("cpu.gather.portable", kGatherRow, portable::GatherCheck, portable::GatherRun),
    Entry("cpu.cast.portable", kCastRow, portable::CastCheck, portable::CastRun),
    Entry("cpu.copy.portable", kCopyRow, portable::CopyCheck, portable::CopyRun),
    Entry("cpu.quantize.portable", kQuantizeRow, portable::QuantizeCheck, portable::QuantizeRun),
    Entry("cpu.dequantize.portable", kDequantizeRow, portable::DequantizeCheck,
          portable::DequantizeRun),
    Entry("cpu.lookup.portable", kLookupRow, portable::LookupCheck, portable::LookupRun),
    Entry("cpu.quantized_conv.portable", kQuantizedConvRow, portable::QuantizedConvCheck,
          portable::QuantizedConvRun),
    Entry("cpu.quantized_matmul.portable", kQuantizedMatMulRow, portable::QuantizedMatMulCheck,
          portable::QuantizedMatMulRun),
    Entry("cpu.quantized_binary.portable", kQuantizedBinaryRow, portable::QuantizedBinaryCheck,
          portable::QuantizedBinaryRun),
    Entry("cpu.quantized_average_pool.portable", kQuantizedAveragePoolRow,
          portable::QuantizedAveragePoolCheck, portable::QuantizedAveragePoolRun),
    Entry("cpu.quantized_reduce.portable", kQuantizedReduceRow, portable::QuantizedReduceCheck,
          portable::QuantizedReduceRun),
    Entry("cpu.quantized_softmax.portable", kQuantizedSoftmaxRow, portable::QuantizedSoftmaxCheck,
          portable::QuantizedSoftmaxRun),
};

}  // namespace

Span<const KernelEntry> PortableKernels() { return kKernels; }

}  // namespace tenon::cpu
