// Decides every tensor's physical layout and inserts the conversions that this takes.
//
// Requires:   kernels chosen (their caps say which layouts they take).
// Guarantees: each operand has a layout that its op's kernel takes; graph inputs and outputs are
//             row-major; one conversion at most per tensor and layout.
// Channels-last is the default for images (rank 4): convolutions and pooling ask for it, and what
// follows keeps the layout of what it reads.
#pragma once

#include "converter/ir/pass.hpp"

namespace tenon::converter {

[[nodiscard]] Status AssignLayouts(Graph& graph, PassContext& context);

/// True if both layouts put every element of this shape at the same place.
[[nodiscard]] bool LayoutsCoincide(const Shape& shape);

}  // namespace tenon::converter
