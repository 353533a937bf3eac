// Quantize, dequantize and lookup.
#include "backends/opencl/kernels/kernels.hpp"
#include "backends/opencl/kernels/row_launch.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::opencl {
namespace {

const char* ClType(DType dtype) {
  switch (dtype) {
    case DType::kI8:
      return "char";
    case DType::kU8:
      return "uchar";
    case DType::kI16:
      return "short";
    case DType::kU16:
      return "ushort";
    default:
      return "int";
  }
}

/// Each element with the scale and the zero point of its index along `axis`.
Status RunScaled(const KernelCall& call, int axis, Rounding rounding) {
  using In = QuantizeInput;
  const TensorView& x = call.op.Input(In::kX);
  const TensorView& y = call.op.Output();
  const TensorView& scale = call.op.Input(In::kScale);
  if (y.Elements() == 0) return OkStatus();
  const bool each = scale.dims[0] != 1;
  const int32_t scale_stride = each ? scale.strides[0] : 0;
  const bool shifted = call.op.HasInput(In::kZeroPoint);
  const int32_t zero_stride = each && shifted ? call.op.Input(In::kZeroPoint).strides[0] : 0;
  LoopNest<4> nest;
  for (int k = 0; k < y.rank; ++k) {
    nest.Add(y.dims[k], y.strides[k], x.strides[k], k == axis ? scale_stride : 0,
             k == axis ? zero_stride : 0);
  }
  nest.Simplify();
  nest.LengthenRows();
  return LaunchRows(
      call, nest,
      {RowOperand{}, RowOperand{In::kX}, RowOperand{In::kScale}, RowOperand{In::kZeroPoint}},
      static_cast<int32_t>(rounding));
}

}  // namespace

ProgramChoice QuantizeChoice(const KernelSetup& setup) {
  const char* type = ClType(setup.op.Output().dtype);
  return {"quantize.cl", std::string("-DQUANTIZED -DINTEGER=") + type, "quantize"};
}

Status QuantizeRun(const KernelCall& call) {
  const auto& attributes = call.op.AttributesAs<QuantizeAttributes>();
  return RunScaled(call, attributes.axis, attributes.rounding);
}

ProgramChoice DequantizeChoice(const KernelSetup& setup) {
  const char* type = ClType(setup.op.Input(QuantizeInput::kX).dtype);
  return {"quantize.cl", std::string("-DQUANTIZED -DDEQUANTIZE -DINTEGER=") + type, "dequantize"};
}

Status DequantizeRun(const KernelCall& call) {
  return RunScaled(call, call.op.AttributesAs<DequantizeAttributes>().axis, Rounding::kHalfEven);
}

ProgramChoice LookupChoice(const KernelSetup& setup) {
  return {"lookup.cl", WordOption(setup.op.Output()), "lookup"};
}

Status LookupRun(const KernelCall& call) {
  using In = LookupInput;
  const TensorView& x = call.op.Input(In::kX);
  const TensorView& table = call.op.Input(In::kTable);
  const TensorView& y = call.op.Output();
  if (y.Elements() == 0) return OkStatus();
  LoopNest<3> nest;
  for (int k = 0; k < y.rank; ++k) nest.Add(y.dims[k], y.strides[k], x.strides[k], 0);
  nest.Simplify();
  nest.LengthenRows();
  const int32_t flip = x.dtype == DType::kI8 ? 0x80 : 0;
  return LaunchRows(call, nest, {RowOperand{}, RowOperand{In::kX}, RowOperand{In::kTable}}, flip,
                    table.strides[0]);
}

}  // namespace tenon::opencl
