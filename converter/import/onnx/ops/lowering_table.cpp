#include "converter/import/onnx/ops/ops.hpp"

namespace tenon::converter {

const LoweringRow* FindLowering(std::string_view domain, std::string_view op_type) {
  if (domain == "ai.onnx") domain = "";
  for (const Span<const LoweringRow>& family :
       {kFunctionLowerings, kConstantLowerings, kConvLowerings, kElementwiseLowerings,
        kMatMulLowerings, kNormalisationLowerings, kPoolLowerings, kQuantizationLowerings,
        kQuantizedLowerings, kQuantizedGemmLowerings, kReduceLowerings, kResizeLowerings,
        kShapeLowerings, kSlicingLowerings}) {
    for (const LoweringRow& row : family) {
      if (row.op_type == op_type && row.domain == domain) return &row;
    }
  }
  return nullptr;
}

}  // namespace tenon::converter
