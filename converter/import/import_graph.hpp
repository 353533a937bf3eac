// What importers do to the graph that they fill, whatever the file format.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/import/import_options.hpp"

namespace tenon::converter {

/// A shape of at most kMaxRank dimensions, each >= 0, with fewer than 2^31 elements.
[[nodiscard]] Result<Shape> ShapeFromDims(const std::vector<int64_t>& dims);

/// Makes a tensor constant, or says on which graph input it depends.
[[nodiscard]] Status FoldValue(Graph& graph, TensorId id, const ConstantFolder& fold);

/// Drops ops and constants that nothing reads (what was folded, operands that gave a shape, ...).
void EraseUnread(Graph& graph);

}  // namespace tenon::converter
