// ONNX models of any size: the shapes of graph on which something that looks quick on a hundred ops
// turns out to be quadratic.
#pragma once

#include <onnx/onnx_pb.h>

#include <array>
#include <cstdint>
#include <string_view>

namespace tenon::test {

enum class ScaleShape : uint8_t {
  kChain,      ///< one op after another: convolutions, activations, pools
  kFan,        ///< one tensor read by a third of all ops, what they make added up
  kConcatFan,  ///< the same, joined by one concatenation
  kOutputs,    ///< the same, each result a graph output
  kResidual,   ///< blocks of convolutions with an addition around each
  kRandom,     ///< each op reads what a random earlier one made, mostly a near one
  kInception,  ///< cells of four branches joined by a concatenation
  kDense,      ///< blocks in which every layer reads all layers before it
  kSlices,     ///< slices of slices, put together again: nothing but views
};
inline constexpr std::array<std::string_view, 9> kScaleShapeNames = {
    "chain", "fan", "concat-fan", "outputs", "residual", "random", "inception", "dense", "slices"};

/// About `ops` nodes (never more), on tensors of a few hundred bytes so that nothing but the number
/// of ops counts. The same model for the same arguments.
[[nodiscard]] onnx::ModelProto MakeScaleModel(ScaleShape shape, int ops, uint64_t seed = 1);

}  // namespace tenon::test
