#include "backends/cpu/caps/portable_caps.hpp"

#include "backends/cpu/caps/portable_supports.hpp"

namespace tenon::cpu {
namespace {

constexpr KernelCaps Row(const char* id, OpKind kind, Reason (*supports)(const OpCall&)) {
  return {id, kind, supports, LayoutNeed::kAny, nullptr};
}

constexpr KernelCaps kCaps[] = {
    Row("cpu.conv.portable", OpKind::kConv, portable::ConvSupports),
    Row("cpu.matmul.portable", OpKind::kMatMul, portable::MatMulSupports),
    Row("cpu.max_pool.portable", OpKind::kMaxPool, portable::MaxPoolSupports),
    Row("cpu.average_pool.portable", OpKind::kAveragePool, portable::AveragePoolSupports),
    Row("cpu.unary.portable", OpKind::kUnary, portable::UnarySupports),
    Row("cpu.binary.portable", OpKind::kBinary, portable::BinarySupports),
    Row("cpu.select.portable", OpKind::kSelect, portable::SelectSupports),
    Row("cpu.reduce.portable", OpKind::kReduce, portable::ReduceSupports),
    Row("cpu.softmax.portable", OpKind::kSoftmax, portable::SoftmaxSupports),
    Row("cpu.lrn.portable", OpKind::kLrn, portable::LrnSupports),
    Row("cpu.concat.portable", OpKind::kConcat, portable::ConcatSupports),
    Row("cpu.slice.portable", OpKind::kSlice, portable::SliceSupports),
    Row("cpu.pad.portable", OpKind::kPad, portable::PadSupports),
    Row("cpu.reshape.portable", OpKind::kReshape, portable::ReshapeSupports),
    Row("cpu.transpose.portable", OpKind::kTranspose, portable::TransposeSupports),
    Row("cpu.expand.portable", OpKind::kExpand, portable::ExpandSupports),
    Row("cpu.resize.portable", OpKind::kResize, portable::ResizeSupports),
    Row("cpu.gather.portable", OpKind::kGather, portable::GatherSupports),
    Row("cpu.cast.portable", OpKind::kCast, portable::CastSupports),
    Row("cpu.copy.portable", OpKind::kCopy, portable::CopySupports),
    Row("cpu.quantize.portable", OpKind::kQuantize, portable::QuantizedSupports),
    Row("cpu.dequantize.portable", OpKind::kDequantize, portable::QuantizedSupports),
    Row("cpu.lookup.portable", OpKind::kLookup, portable::QuantizedSupports),
    Row("cpu.quantized_conv.portable", OpKind::kQuantizedConv, portable::QuantizedSupports),
    Row("cpu.quantized_matmul.portable", OpKind::kQuantizedMatMul, portable::QuantizedSupports),
    Row("cpu.quantized_binary.portable", OpKind::kQuantizedBinary, portable::QuantizedSupports),
    Row("cpu.quantized_average_pool.portable", OpKind::kQuantizedAveragePool,
        portable::QuantizedSupports),
    Row("cpu.quantized_reduce.portable", OpKind::kQuantizedReduce, portable::QuantizedSupports),
    Row("cpu.quantized_softmax.portable", OpKind::kQuantizedSoftmax, portable::QuantizedSupports),
};

}  // namespace

Span<const KernelCaps> PortableCaps() { return kCaps; }

}  // namespace tenon::cpu
