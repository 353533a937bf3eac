// Every op's row, one constant each (see op_row.hpp). Naming a row links that row and no other.
#pragma once

#include "runtime/ops/op_row.hpp"

namespace tenon {

extern const OpRow kConvRow;
extern const OpRow kMatMulRow;
extern const OpRow kMaxPoolRow;
extern const OpRow kAveragePoolRow;
extern const OpRow kUnaryRow;
extern const OpRow kBinaryRow;
extern const OpRow kSelectRow;
extern const OpRow kReduceRow;
extern const OpRow kSoftmaxRow;
extern const OpRow kLrnRow;
extern const OpRow kConcatRow;
extern const OpRow kSliceRow;
extern const OpRow kPadRow;
extern const OpRow kReshapeRow;
extern const OpRow kTransposeRow;
extern const OpRow kExpandRow;
extern const OpRow kResizeRow;
extern const OpRow kGatherRow;
extern const OpRow kCastRow;
extern const OpRow kCopyRow;
extern const OpRow kQuantizeRow;
extern const OpRow kDequantizeRow;
extern const OpRow kLookupRow;
extern const OpRow kQuantizedConvRow;
extern const OpRow kQuantizedMatMulRow;
extern const OpRow kQuantizedBinaryRow;
extern const OpRow kQuantizedAveragePoolRow;
extern const OpRow kQuantizedReduceRow;
extern const OpRow kQuantizedSoftmaxRow;

extern const OpText kConvText;
extern const OpText kMatMulText;
extern const OpText kMaxPoolText;
extern const OpText kAveragePoolText;
extern const OpText kUnaryText;
extern const OpText kBinaryText;
extern const OpText kSelectText;
extern const OpText kReduceText;
extern const OpText kSoftmaxText;
extern const OpText kLrnText;
extern const OpText kConcatText;
extern const OpText kSliceText;
extern const OpText kPadText;
extern const OpText kReshapeText;
extern const OpText kTransposeText;
extern const OpText kExpandText;
extern const OpText kResizeText;
extern const OpText kGatherText;
extern const OpText kCastText;
extern const OpText kCopyText;
extern const OpText kQuantizeText;
extern const OpText kDequantizeText;
extern const OpText kLookupText;
extern const OpText kQuantizedConvText;
extern const OpText kQuantizedMatMulText;
extern const OpText kQuantizedBinaryText;
extern const OpText kQuantizedAveragePoolText;
extern const OpText kQuantizedReduceText;
extern const OpText kQuantizedSoftmaxText;

}  // namespace tenon
