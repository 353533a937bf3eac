// Expresses fused activations and residuals as oneDNN post-ops.
#pragma once

#include "backends/cpu/kernels/onednn/primitive.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::onednn {

/// Makes attributes with scratch from the user and the post-ops activation(result + the
/// destination's previous content, if `add_destination`). `activation` must satisfy HasPostOps.
Status MakeAttributes(const Activation& activation, bool add_destination, AttributesHandle& made);

/// Calls MakePrimitive for an op that reads input 0 alone, without weights or post-ops.
Status MakePlainPrimitive(const KernelSetup& setup, const_dnnl_op_desc_t op_desc, void** shared);

}  // namespace tenon::cpu::onednn
