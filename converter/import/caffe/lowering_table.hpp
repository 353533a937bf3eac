// The one table of Caffe's layers that can be imported.
#pragma once

#include <string_view>

#include "converter/import/caffe/layer.hpp"
#include "runtime/base/span.hpp"

namespace tenon::converter::caffe {

struct LoweringRow {
  std::string_view type;
  Status (*lower)(Layer& layer);
  std::string_view limits = {};  ///< what is refused though Caffe has it, in words
};

/// Null if the layer cannot be imported.
[[nodiscard]] const LoweringRow* FindLowering(std::string_view type);

// Rows of the families, each defined in the file of the folder ops that is called after it.
extern const Span<const LoweringRow> kConvolutionRows;
extern const Span<const LoweringRow> kDetectionOutputRows;
extern const Span<const LoweringRow> kElementwiseRows;
extern const Span<const LoweringRow> kNormalisationRows;
extern const Span<const LoweringRow> kPoolingRows;
extern const Span<const LoweringRow> kPriorBoxRows;
extern const Span<const LoweringRow> kShapeRows;

}  // namespace tenon::converter::caffe
