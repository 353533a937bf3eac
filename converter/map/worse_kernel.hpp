// Whether an op, written otherwise, would still run as fast: passes that offer kernels another form
// of an op ask before they change it.
#pragma once

#include <string>

#include "converter/map/kernel_choice.hpp"

namespace tenon::converter {

/// Why `after`, another form of the op `before` on the same graph, would run worse: on another
/// backend, by the portable kernel where it had a faster one, or nowhere. Empty if it would not.
[[nodiscard]] std::string WhyWorseKernel(const Graph& graph, const Op& before, const Op& after,
                                         const KernelChoiceOptions& options);

/// The kernel that the op would be given as things stand; null if none.
[[nodiscard]] const KernelCaps* KernelFor(const Graph& graph, const Op& op,
                                          const KernelChoiceOptions& options);

}  // namespace tenon::converter
