// The CPU's form of ops on devices, for plans that go on without the device (--fallback).
//
// Requires:   kernels chosen, layouts assigned, locations known.
// Guarantees: every op that executes on a device has a CPU kernel that takes its operands as they
//             lie there, so that a segment can be run again in place; nothing else changes.
#pragma once

#include "converter/ir/locations.hpp"

namespace tenon::converter {

/// Sets `fallback_kernel` and `fallback_workspace_bytes` of ops on other backends than "cpu".
/// `threads`: the most that a run will use. `portable_only`: see MarkOptions. Errors (kInput): ops
/// that no kernel of the CPU runs, all of them at once with the kernels' reasons.
[[nodiscard]] Status ChooseFallbackKernels(Graph& graph, const Locations& locations, int threads,
                                           bool portable_only);

/// True if a kernel with this need takes a tensor of these strides, whatever it was laid out for.
[[nodiscard]] bool TakesAsItLies(LayoutNeed need, const Shape& shape,
                                 const std::vector<int32_t>& strides);

}  // namespace tenon::converter
