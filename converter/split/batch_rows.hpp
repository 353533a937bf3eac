// Finds out whether the rows of a batch can be computed apart from each other, and makes the same
// graph for another number of rows (docs/methods.md, P2).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converter/ir/graph.hpp"

namespace tenon::converter {

/// Where the rows of the batch lie in a graph. Row r of a tensor with `axis` is its indices
/// [r * n, (r + 1) * n) along that axis, where n is the axis' extent divided by `rows`: a reshape
/// may have merged the batch with an axis behind it.
struct BatchRows {
  /// The first dimension, which all inputs and outputs have in common; 0: they have none.
  int32_t rows = 0;
  /// Each row of the outputs is computed from the same row of the inputs alone.
  bool apart = false;
  /// Words about the op that needs the whole batch at once, because it reduces, gathers or
  /// normalises over it, or about what else keeps rows together; empty if they are apart.
  std::string why_whole;
  std::vector<int32_t> axis;  ///< by TensorId; -1: the tensor is the same for all rows
};

/// Looks at each op once, by its row in the table of how ops may be split: what the table allows to
/// cut along the batch is computed row by row. O(elements of shapes). A batch of one row is never
/// apart: nothing says which of its dimensions of 1 is the batch.
[[nodiscard]] BatchRows FindBatchRows(const Graph& graph);

/// Returns `graph` for `rows` rows. `batch` is FindBatchRows(graph) and its rows are apart; `rows`
/// is at least 1. Constants are shared with `graph`. Errors (kInternal): an op's rule refuses the
/// new shapes.
[[nodiscard]] Result<Graph> WithRows(const Graph& graph, const BatchRows& batch, int32_t rows);

}  // namespace tenon::converter
