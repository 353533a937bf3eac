// Decides which tensors are windows on others, so that slices, concatenations, reshapes and
// transposes cost nothing where the kernels on both sides take the strides.
//
// Requires:   kernels are chosen, layouts assigned.
// Guarantees: every tensor has a location on a root tensor that owns bytes; an op all of whose
//             work has become a view is elided; every remaining op's kernel takes its operands'
//             strides; a graph input or output is a root of its own. Concatenations of which only
//             some parts can be written in place get copies for the others (this changes the
//             graph).
#pragma once

#include <cstdint>
#include <vector>

#include "converter/ir/graph.hpp"
#include "converter/ir/locations.hpp"
#include "converter/ir/outside_inputs.hpp"
#include "converter/ir/pass.hpp"

namespace tenon::converter {

/// With `stage_of_op` (by OpId; grows with the copies that are inserted) no storage is written in
/// more than one stage of a pipeline: parts of a concatenation that other stages make are copied.
/// What copies rows of an input of `outside` stays one run of bytes.
[[nodiscard]] Result<Locations> AssignLocations(Graph& graph, PassReport& report,
                                                std::vector<int32_t>* stage_of_op = nullptr,
                                                const OutsideInputs& outside = {});

/// Returns the strides of a tensor's elements (`dims`, `strides`) seen under other `new_dims` with
/// the same row-major order of elements; empty if no strides express that. (This is NumPy's reshape
/// without a copy.)
[[nodiscard]] std::vector<int32_t> ReshapeStrides(const Shape& dims,
                                                  const std::vector<int32_t>& strides,
                                                  const Shape& new_dims);

// Tells whether two tensors that lie on the same root share bytes.

/// Returns the distance from the start of a tensor's root to just after its last byte.
[[nodiscard]] int64_t EndInRoot(const Graph& graph, const Locations& locations, TensorId id);

/// Returns false if it is certain that no byte belongs to both tensors' windows.
[[nodiscard]] bool MayOverlap(const Graph& graph, const Locations& locations, TensorId a,
                              TensorId b);

}  // namespace tenon::converter
