#include "converter/import/caffe/lowering_table.hpp"

namespace tenon::converter::caffe {

const LoweringRow* FindLowering(std::string_view type) {
  for (const Span<const LoweringRow>& rows : {kConvolutionRows, kDetectionRows, kElementwiseRows,
                                              kNormalisationRows, kPoolingRows, kShapeRows}) {
    for (const LoweringRow& row : rows) {
      if (row.type == type) return &row;
    }
  }
  return nullptr;
}

}  // namespace tenon::converter::caffe
