// Moves transposes to where they meet others, and pads and reshapes to where they meet what takes
// them. Each of these leaves a graph that computes the same.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/ir/graph.hpp"

namespace tenon::converter {

/// Returns for each joined dimension the first of those that it is made of, and their number at the
/// end; nothing where they are not made of more others one after the other.
[[nodiscard]] std::vector<int32_t> RunsOf(const Shape& joined, const Shape& parts);

/// Moves a transpose before the pad whose result it alone reads, so that transposes on both sides
/// of the pad meet, and the pad meets the op whose windows may take it.
bool TryTransposeBeforePad(Graph& graph, OpId id);

/// Moves a transpose before the expand whose result it alone reads: it moves fewer elements there,
/// and the op behind may read what is repeated.
bool TryTransposeBeforeExpand(Graph& graph, OpId id);

/// Of a transpose and a reshape that cuts its dimensions, or of a reshape that joins dimensions and
/// a transpose, lets the transpose move the smaller dimensions, the ones before they are joined or
/// after they are cut: those of images, where it meets others. `id` is the second of the two.
bool TryTransposeSmallerDimensions(Graph& graph, OpId id);

/// Moves a reshape behind the unary op that alone reads it, so that the op meets what computed its
/// input, and reshapes on both sides of it meet.
bool TryReshapeAfterUnary(Graph& graph, OpId id);

}  // namespace tenon::converter
