// Finds backends and kernels that the converter knows.
#pragma once

#include <string_view>
#include <vector>

#include "converter/ir/graph.hpp"
#include "runtime/ops/kernel_caps.hpp"

namespace tenon::converter {

/// Returns the backends that this build was made with, "cpu" first. Others are registered by
/// listing them together with these (KernelChoiceOptions::backends).
[[nodiscard]] std::vector<BackendCaps> BuiltInBackends();

/// Finds a backend by name; returns null if there is none.
[[nodiscard]] const BackendCaps* FindBackend(const std::vector<BackendCaps>& backends,
                                             std::string_view name);

/// Returns the caps of the kernel that ChooseKernels gave to `op`: ends the program if it has none.
[[nodiscard]] const KernelCaps& CapsOf(const Op& op);

/// Gives `op` the kernel `caps` of `backend`.
void UseKernel(Op& op, std::string_view backend, const KernelCaps& caps);

/// Gives `op` the portable kernel of its kind on the CPU, which runs any operands that the op's
/// rule allows.
void UsePortableKernel(Op& op);

/// Gives a copy that a pass has inserted the kernel and the unit of a neighbouring op, so that it
/// adds no crossing between units: the one where its input is made, else where its output is read
/// (`reader`: the op that will read it; kNone: as the graph says). The kernel must take any
/// strides, without a workspace; where there is none, the CPU's portable kernel is used.
void UseKernelOfNeighbour(Graph& graph, OpId copy, OpId reader = kNone);

}  // namespace tenon::converter
