// Declares the models of single kernels behind features.hpp.
#pragma once

#include "converter/cost/features.hpp"
#include "runtime/base/round_up.hpp"

namespace tenon::converter::features {

struct Context {
  const ProfileOperands& operands;
  const MachineFacts& machine;
  int threads;
  CostTerms& terms;

  [[nodiscard]] const OpCall& call() const { return operands.call(); }
};

[[nodiscard]] int64_t BytesOf(const TensorView& view);

/// Levels of memory, nearest first: three caches, and one processor's reliable share of the last.
enum class Level { kL1, kL2, kShareOfL3, kL3 };

/// Returns the share of a working set of `footprint` bytes that is not found in a cache.
[[nodiscard]] double ShareBeyond(const MachineFacts& machine, Level level, double footprint);

/// Adds what reading or writing `bytes` costs in addition to the work, by the cache in which a
/// working set of `footprint` bytes is found: terms l2_bytes, l3_bytes, far_bytes, memory_bytes.
void AddTraffic(const Context& context, double bytes, double footprint);
/// Adds the traffic of the op's activations: inputs and outputs, once each.
void AddActivationTraffic(const Context& context);
/// Returns the relative cost of a function. (GEMM kernels apply clamps in registers.)
[[nodiscard]] double ActivationWeight(UnaryFunction function);
/// Adds the term "activated": elements with a function other than a clamp after the product.
void AddActivation(const Context& context, const Activation& activation);

// These models are about register tiles (features_gemm.cpp).
void TileConv(const Context& context);
void TileMatMul(const Context& context);
void ComputedConv(const Context& context);
void ComputedMatMul(const Context& context);
void FirstConv(const Context& context);
void Winograd(const Context& context);
void Attention(const Context& context);
// These models are in features_windows.cpp.
void Depthwise(const Context& context);
void NarrowConv(const Context& context);
void PixelConv(const Context& context);
void Pool(const Context& context);
void Lrn(const Context& context);
void Softmax(const Context& context);
void ChannelSoftmax(const Context& context);
void LayerNorm(const Context& context);
// These are portable kernels that walk strided operands (features_portable.cpp).
void Unary(const Context& context);
void Binary(const Context& context);
void Elementwise(const Context& context);  ///< the vector kernel, too
void Reduce(const Context& context);
void Movement(const Context& context);  ///< copy, transpose, reshape, slice, concat, pad, ...
void Gather(const Context& context);
void Resize(const Context& context);
void GridSample(const Context& context);
void PortableGemm(const Context& context);
void LibraryGemm(const Context& context);  ///< oneDNN's products, and those with one column
// These are kernels on bytes (features_quantized.cpp).
void QuantizedConv(const Context& context);  ///< depthwise ones have a model of their own
void QuantizedWinograd(const Context& context);
void QuantizedMatMul(const Context& context);
void DynamicMatMul(const Context& context);
void QuantizedElements(const Context& context);  ///< quantize, dequantize, lookup
void QuantizedBinary(const Context& context);
void QuantizedReduce(const Context& context);
void QuantizedSoftmax(const Context& context);

}  // namespace tenon::converter::features
