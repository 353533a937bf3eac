// Whether two tensors that lie on the same root share bytes.
#pragma once

#include "converter/ir/locations.hpp"

namespace tenon::converter {

/// False if it is certain that no byte belongs to both windows (of tensors with these shapes).
[[nodiscard]] bool MayOverlap(const Graph& graph, const Locations& locations, TensorId a,
                              TensorId b);

}  // namespace tenon::converter
