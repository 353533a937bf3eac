#include "backends/opencl/codegen/programs.hpp"

#include <cstring>

#include "backends/opencl/codegen/kernel_sources.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::opencl {
namespace {

/// What a power of this constant exponent is called in binary.cl; null: compute it as a power.
const char* PowerName(float exponent) {
  if (exponent == 2.0F) return "2";
  if (exponent == 3.0F) return "3";
  if (exponent == 4.0F) return "4";
  if (exponent == 0.5F) return "H";
  if (exponent == -1.0F) return "R";
  return nullptr;
}

}  // namespace

ProgramChoice BinaryProgram(const OpCall& op) {
  const auto& attributes = op.AttributesAs<BinaryAttributes>();
  std::string options = "-DFUNCTION=" + std::to_string(static_cast<int>(attributes.function));
  if (GivesBool(attributes.function)) return {"binary.cl", options + " -DZ=uchar", "binary"};
  options += " -DACTIVATION=" + std::to_string(static_cast<int>(attributes.activation.function));
  const TensorView& y = op.Input(BinaryInput::kY);
  if (attributes.function == BinaryFunction::kPow && y.data != nullptr && y.Elements() == 1) {
    const char* name = PowerName(*y.As<const float>());
    if (name != nullptr) options += std::string(" -DPOWER=") + name;
  }
  return {"binary.cl", options, "binary"};
}

ProgramChoice UnaryProgram(const OpCall& op) {
  const auto function = static_cast<int>(op.AttributesAs<UnaryAttributes>().function);
  return {"unary.cl", "-DFUNCTION=" + std::to_string(function), "unary"};
}

ProgramChoice MaxPoolProgram(const OpCall& op) {
  switch (op.Output().dtype) {
    case DType::kI8:
      return {"pool.cl", "-DMAXIMUM -DELEMENT=char -DLEAST=CHAR_MIN", "pool"};
    case DType::kU8:
      return {"pool.cl", "-DMAXIMUM -DELEMENT=uchar -DLEAST=0", "pool"};
    default:
      return {"pool.cl", "-DMAXIMUM", "pool"};
  }
}
ProgramChoice AveragePoolProgram(const OpCall&) { return {"pool.cl", "", "pool"}; }

std::string WordOption(const TensorView& view) {
  switch (DTypeBytes(view.dtype)) {
    case 1:
      return "-DWORD=uchar";
    case 2:
      return "-DWORD=ushort";
    case 4:
      return "-DWORD=uint";
    default:
      return "-DWORD=ulong";
  }
}

ProgramChoice MoveProgram(const OpCall& op) { return {"move.cl", WordOption(op.Output()), "move"}; }

ProgramChoice GatherProgram(const OpCall& op) {
  return {"gather.cl", WordOption(op.Output()), "gather"};
}

ProgramChoice NearestResizeProgram(const OpCall& op) {
  return {"resize.cl", WordOption(op.Output()), "resize_nearest"};
}

ProgramChoice SoftmaxProgram(const OpCall& op) {
  const bool log = op.AttributesAs<SoftmaxAttributes>().log != 0;
  return {"softmax.cl", log ? "-DLOG" : "", "softmax"};
}

ProgramChoice LrnProgram(const OpCall&) { return {"lrn.cl", "", "lrn"}; }

const char* FindKernelSource(const char* file) {
  for (size_t i = 0; i < kKernelSourceCount; ++i) {
    if (std::strcmp(kKernelSources[i].file, file) == 0) return kKernelSources[i].text;
  }
  return nullptr;
}

}  // namespace tenon::opencl
