// The predicates and sizes behind onednn.inc, which the oneDNN kernels' own checks share.
//
// The facts were measured with oneDNN 2.6.3 on x86-64 (AVX-512, AVX2 and SSE4.1 code paths): ops
// for which oneDNN would use its reference code, hundreds of times slower than ours, are refused
// here.
#pragma once

#include <cstddef>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/op_row.hpp"
#include "runtime/ops/packing_key.hpp"

/// Each predicate returns null for yes, else the reason as a constant text, for operands that
/// passed CheckOpCall. They read dims, dtypes and attributes, never strides or data.
namespace tenon::cpu::onednn {

[[nodiscard]] const char* ConvSupports(const OpCall& call);
[[nodiscard]] const char* ConvMatMulSupports(const OpCall& call);
[[nodiscard]] const char* MatMulSupports(const OpCall& call);
[[nodiscard]] const char* MaxPoolSupports(const OpCall& call);
[[nodiscard]] const char* AveragePoolSupports(const OpCall& call);
/// Accepts softmax over the last axis.
[[nodiscard]] const char* SoftmaxSupports(const OpCall& call);
/// Accepts softmax over axis 1 of a rank 4 tensor, which is innermost in channels-last.
[[nodiscard]] const char* ChannelSoftmaxSupports(const OpCall& call);
[[nodiscard]] const char* LrnSupports(const OpCall& call);

/// Returns true for the activations that oneDNN can apply as post-ops of a convolution or matrix
/// product.
[[nodiscard]] bool HasPostOps(const Activation& activation);

/// Returns the scratch that oneDNN takes on AVX-512 (measured; on other processors it can take
/// more, which the kernel then allocates itself when it is opened).
[[nodiscard]] size_t ConvWorkspaceBytes(const OpCall& call, int threads);
[[nodiscard]] size_t MatMulWorkspaceBytes(const OpCall& call, int threads);

/// Appends what a primitive and its packed weights depend on: everything but the data of
/// activations.
template <typename Attributes>
void AddPackingKey(const OpCall& call, PackingKey* key) {
  key->AddWords(&call.AttributesAs<Attributes>(), sizeof(Attributes) / sizeof(int32_t));
  for (int i = 0; i < call.InputCount(); ++i) {
    key->Add(call.HasInput(i) ? 1 : 0);
    if (call.HasInput(i)) key->AddTensor(call.Input(i));
  }
  key->AddTensor(call.Output());
}

/// Is the most memory that our side of one op with a primitive takes without its weights: the
/// objects of a loaded plan and of one session. oneDNN's own objects and code are not counted.
inline constexpr size_t kObjectBytes = 4096;
/// Is KernelCaps::packed_bytes, for any form of the weights that oneDNN may choose.
[[nodiscard]] size_t ConvPackedBytes(const OpCall& call);
[[nodiscard]] size_t ConvMatMulPackedBytes(const OpCall& call);
[[nodiscard]] size_t MatMulPackedBytes(const OpCall& call);
[[nodiscard]] size_t ObjectBytes(const OpCall& call);

}  // namespace tenon::cpu::onednn
