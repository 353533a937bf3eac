#include "converter/import/caffe/lowering_table.hpp"

#include <algorithm>

#include "converter/import/operator_list.hpp"

namespace tenon::converter::caffe {
namespace {

std::vector<Span<const LoweringRow>> AllRows() {
  return {kConvolutionRows, kDetectionOutputRows, kElementwiseRows, kNormalisationRows,
          kPoolingRows,     kPriorBoxRows,        kShapeRows};
}

}  // namespace

const LoweringRow* FindLowering(std::string_view type) {
  for (const Span<const LoweringRow>& rows : AllRows()) {
    for (const LoweringRow& row : rows) {
      if (row.type == type) return &row;
    }
  }
  return nullptr;
}

}  // namespace tenon::converter::caffe

namespace tenon::converter {

std::vector<ImportedOperator> CaffeOperators() {
  std::vector<ImportedOperator> operators;
  for (const Span<const caffe::LoweringRow>& rows : caffe::AllRows()) {
    for (const caffe::LoweringRow& row : rows) {
      operators.push_back({"caffe", "", std::string(row.type), std::string(row.limits), ""});
    }
  }
  std::sort(operators.begin(), operators.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return operators;
}

}  // namespace tenon::converter
