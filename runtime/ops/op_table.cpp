#include "runtime/ops/op_table.hpp"

#include <cstring>

#include "runtime/ops/rows.hpp"

namespace tenon {
namespace {

/// By OpKind; a test checks that each row stands at its kind's place.
const OpRow* const kRows[kOpKindCount] = {
    &kConvRow,
    &kMatMulRow,
    &kMaxPoolRow,
    &kAveragePoolRow,
    &kUnaryRow,
    &kBinaryRow,
    &kSelectRow,
    &kReduceRow,
    &kSoftmaxRow,
    &kLrnRow,
    &kConcatRow,
    &kSliceRow,
    &kPadRow,
    &kReshapeRow,
    &kTransposeRow,
    &kExpandRow,
    &kResizeRow,
    &kGatherRow,
    &kCastRow,
    &kCopyRow,
    &kQuantizeRow,
    &kDequantizeRow,
    &kLookupRow,
    &kQuantizedConvRow,
    &kQuantizedMatMulRow,
    &kQuantizedBinaryRow,
    &kQuantizedAveragePoolRow,
    &kQuantizedReduceRow,
    &kQuantizedSoftmaxRow,
};

const OpText* const kTexts[kOpKindCount] = {
    &kConvText,
    &kMatMulText,
    &kMaxPoolText,
    &kAveragePoolText,
    &kUnaryText,
    &kBinaryText,
    &kSelectText,
    &kReduceText,
    &kSoftmaxText,
    &kLrnText,
    &kConcatText,
    &kSliceText,
    &kPadText,
    &kReshapeText,
    &kTransposeText,
    &kExpandText,
    &kResizeText,
    &kGatherText,
    &kCastText,
    &kCopyText,
    &kQuantizeText,
    &kDequantizeText,
    &kLookupText,
    &kQuantizedConvText,
    &kQuantizedMatMulText,
    &kQuantizedBinaryText,
    &kQuantizedAveragePoolText,
    &kQuantizedReduceText,
    &kQuantizedSoftmaxText,
};

}  // namespace

const OpText& GetOpText(OpKind kind) { return *kTexts[static_cast<size_t>(kind)]; }

const OpRow& GetOpRow(OpKind kind) { return *kRows[static_cast<size_t>(kind)]; }

const OpRow* FindOpRow(const char* name) {
  if (name == nullptr) return nullptr;
  for (const OpRow* row : kRows) {
    if (std::strcmp(row->name, name) == 0) return row;
  }
  return nullptr;
}

}  // namespace tenon
