// The operators that can be imported, by family: each file has the lowerings of some, and says in a
// table which operators they serve. Differences between versions of an operator are dealt with
// inside.
#pragma once

#include <array>

#include "converter/import/onnx/lowering_table.hpp"
#include "runtime/base/span.hpp"

namespace tenon::converter {

extern const Span<const LoweringRow> kFunctionLowerings;
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

/// A row for each of `operators`, which have an `op_type` and are all lowered by one function; then
/// the `others`.
template <typename Operator, size_t N, size_t M>
[[nodiscard]] constexpr std::array<LoweringRow, N + M> RowsOf(const Operator (&operators)[N],
                                                              LoweringFunction lower,
                                                              const LoweringRow (&others)[M]) {
  std::array<LoweringRow, N + M> rows{};
  for (size_t i = 0; i < N; ++i) rows[i] = {operators[i].op_type, lower};
  for (size_t i = 0; i < M; ++i) rows[N + i] = others[i];
  return rows;
}

/// The same as a table.
template <size_t N>
[[nodiscard]] constexpr Span<const LoweringRow> TableOf(const std::array<LoweringRow, N>& rows) {
  return {rows.data(), N};
}

}  // namespace tenon::converter
