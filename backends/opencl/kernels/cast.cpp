#include "backends/opencl/kernels/kernels.hpp"
#include "backends/opencl/kernels/row_launch.hpp"

namespace tenon::opencl {
namespace {

/// The OpenCL type of an element.
const char* TypeName(DType dtype) {
  switch (dtype) {
    case DType::kI32:
      return "int";
    case DType::kI64:
      return "long";
    case DType::kI8:
      return "char";
    case DType::kU8:
    case DType::kBool:
      return "uchar";
    default:
      return "float";
  }
}

/// How the element `value` becomes one of `to`: integers keep their low bits, floats saturate, NaN
/// becomes 0.
std::string Conversion(DType from, DType to) {
  // Any number but 0 is true; true is 1, whatever its byte.
  if (to == DType::kBool) return "(TO)(value!=(FROM)0)";
  if (from == DType::kBool) return "(TO)(value!=0)";
  if (from != DType::kF32 || to == DType::kF32) return "(TO)value";
  return std::string("(isnan(value)?(TO)0:convert_") + TypeName(to) + "_sat_rtz(value))";
}

}  // namespace

ProgramChoice CastChoice(const KernelSetup& setup) {
  const DType from = setup.op.Input(0).dtype;
  const DType to = setup.op.Output().dtype;
  const std::string options = std::string("-DFROM=") + TypeName(from) + " -DTO=" + TypeName(to) +
                              " -DCONVERT=" + Conversion(from, to);
  return {"cast.cl", options, "cast"};
}

Status CastRun(const KernelCall& call) {
  const TensorView& x = call.op.Input(0);
  const TensorView& y = call.op.Output();
  if (y.Elements() == 0) return OkStatus();
  LoopNest<2> nest;
  for (int k = 0; k < y.rank; ++k) nest.Add(y.dims[k], y.strides[k], x.strides[k]);
  nest.Simplify();
  nest.LengthenRows();
  return LaunchRows(call, nest, {RowOperand{}, RowOperand{0}});
}

}  // namespace tenon::opencl
