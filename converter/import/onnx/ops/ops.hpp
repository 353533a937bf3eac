// The operators that can be imported, by family: each file has the lowerings of some, and says in a
// table which operators they serve. Differences between versions of an operator are dealt with
// inside.
#pragma once

#include <array>

#include "converter/import/onnx/lowering_table.hpp"
#include "runtime/base/span.hpp"

namespace tenon::converter {

extern const Span<const LoweringRow> kFunctionLowerings;  // of one tensor; kUnaryLowerings too
extern const Span<const LoweringRow> kUnaryLowerings;
extern const Span<const LoweringRow> kConstantLowerings;
extern const Span<const LoweringRow> kConvLowerings;
extern const Span<const LoweringRow> kElementwiseLowerings;
extern const Span<const LoweringRow> kMatMulLowerings;
extern const Span<const LoweringRow> kNormalisationLowerings;
extern const Span<const LoweringRow> kPoolLowerings;
extern const Span<const LoweringRow> kQuantizationLowerings;
extern const Span<const LoweringRow> kQuantizedLowerings;
extern const Span<const LoweringRow> kQuantizedProductLowerings;
extern const Span<const LoweringRow> kReduceLowerings;
extern const Span<const LoweringRow> kResizeLowerings;
extern const Span<const LoweringRow> kShapeLowerings;
extern const Span<const LoweringRow> kSlicingLowerings;

/// A row for each of `operators`, which have an `op_type`; one function lowers them all.
template <typename Operator, size_t N>
[[nodiscard]] constexpr std::array<LoweringRow, N> RowsOf(const Operator (&operators)[N],
                                                          LoweringFunction lower) {
  std::array<LoweringRow, N> rows{};
  for (size_t i = 0; i < N; ++i) rows[i] = {operators[i].op_type, lower};
  return rows;
}

}  // namespace tenon::converter
