#include <algorithm>

#include "converter/import/onnx/ops/ops.hpp"
#include "converter/import/operator_list.hpp"

namespace tenon::converter {
namespace {

constexpr const Span<const LoweringRow>* kFamilies[] = {&kFunctionLowerings,
                                                        &kConstantLowerings,
                                                        &kConvLowerings,
                                                        &kElementwiseLowerings,
                                                        &kMatMulLowerings,
                                                        &kNormalisationLowerings,
                                                        &kPoolLowerings,
                                                        &kQuantizationLowerings,
                                                        &kQuantizedLowerings,
                                                        &kQuantizedGemmLowerings,
                                                        &kReduceLowerings,
                                                        &kResizeLowerings,
                                                        &kShapeLowerings,
                                                        &kSlicingLowerings,
                                                        &kIndexingLowerings,
                                                        &kLossLowerings,
                                                        &kMaskLowerings,
                                                        &kConvTransposeLowerings,
                                                        &kEinsumLowerings,
                                                        &kSignalLowerings,
                                                        &kGridSampleLowerings,
                                                        &kScatterLowerings,
                                                        &kTrigonometryLowerings,
                                                        &kRecurrentLowerings,
                                                        &kControlFlowLowerings,
                                                        &kSelectionLowerings,
                                                        &kSequenceLowerings,
                                                        &kFusedFunctionLowerings,
                                                        &kFusedProductLowerings,
                                                        &kAttentionLowerings,
                                                        &kFusedNormalisationLowerings,
                                                        &kStandardAttentionLowerings};

}  // namespace

const LoweringRow* FindLowering(std::string_view domain, std::string_view op_type) {
  if (domain == "ai.onnx") domain = "";
  for (const Span<const LoweringRow>* family : kFamilies) {
    for (const LoweringRow& row : *family) {
      if (row.op_type == op_type && row.domain == domain) return &row;
    }
  }
  return nullptr;
}

std::vector<ImportedOperator> OnnxOperators() {
  std::vector<ImportedOperator> operators;
  for (const Span<const LoweringRow>* family : kFamilies) {
    for (const LoweringRow& row : *family) {
      const std::string domain(row.domain.empty() ? "ai.onnx" : row.domain);
      operators.push_back({"onnx", domain, std::string(row.op_type), std::string(row.limits), ""});
    }
  }
  std::sort(operators.begin(), operators.end(), [](const auto& a, const auto& b) {
    return a.domain != b.domain ? a.domain < b.domain : a.name < b.name;
  });
  return operators;
}

}  // namespace tenon::converter
