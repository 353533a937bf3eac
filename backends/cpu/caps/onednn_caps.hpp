// What the oneDNN kernels take and hold: the predicates behind onednn.inc, which the kernels' own
// checks share.
//
// The facts were measured with oneDNN 2.6.3 on x86-64 (AVX-512, AVX2 and SSE4.1 code paths): what
// would fall to its reference code, hundreds of times slower than ours, is refused here.
#pragma once

#include <cstddef>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/op_row.hpp"
#include "runtime/ops/packing_key.hpp"

/// Each answers null for yes, else the reason as a constant text, for operands that passed
/// CheckOpCall. They read dims, dtypes and attributes, never strides or data.
namespace tenon::cpu::onednn {

[[nodiscard]] const char* ConvSupports(const OpCall& call);
[[nodiscard]] const char* ConvMatMulSupports(const OpCall& call);
[[nodiscard]] const char* MatMulSupports(const OpCall& call);
[[nodiscard]] const char* MaxPoolSupports(const OpCall& call);
[[nodiscard]] const char* AveragePoolSupports(const OpCall& call);
/// Softmax over the last axis.
[[nodiscard]] const char* SoftmaxSupports(const OpCall& call);
/// Softmax over axis 1 of a rank 4 tensor, innermost where that is channels-last.
[[nodiscard]] const char* ChannelSoftmaxSupports(const OpCall& call);
[[nodiscard]] const char* LrnSupports(const OpCall& call);

/// True for the activations that oneDNN can apply as post-ops of a convolution or matrix product.
[[nodiscard]] bool HasPostOps(const Activation& activation);

/// Scratch that oneDNN takes on AVX-512 (measured; on other processors it can take more, which the
/// kernel then allocates itself when it is opened).
[[nodiscard]] size_t ConvWorkspaceBytes(const OpCall& call, int threads);
[[nodiscard]] size_t MatMulWorkspaceBytes(const OpCall& call, int threads);

/// What a primitive and its packed weights depend on: everything but the data of activations.
template <typename Attributes>
void AddPackingKey(const OpCall& call, PackingKey* key) {
  key->AddWords(&call.AttributesAs<Attributes>(), sizeof(Attributes) / sizeof(int32_t));
  for (int i = 0; i < call.InputCount(); ++i) {
    key->Add(call.HasInput(i) ? 1 : 0);
    if (call.HasInput(i)) key->AddTensor(call.Input(i));
  }
  key->AddTensor(call.Output());
}

/// What our side of one op with a primitive takes in memory at most, weights apart: the objects of
/// a loaded plan and of one session. oneDNN's own objects and code are not counted.
inline constexpr size_t kObjectBytes = 4096;
/// KernelCaps::packed_bytes, for any form of the weights that oneDNN may choose.
[[nodiscard]] size_t ConvPackedBytes(const OpCall& call);
[[nodiscard]] size_t ConvMatMulPackedBytes(const OpCall& call);
[[nodiscard]] size_t MatMulPackedBytes(const OpCall& call);
[[nodiscard]] size_t ObjectBytes(const OpCall& call);

}  // namespace tenon::cpu::onednn
