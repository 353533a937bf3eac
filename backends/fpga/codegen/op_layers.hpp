// Single ops as layers of the accelerator: windows, weights and factors.
#pragma once

#include "backends/fpga/codegen/layers.hpp"
#include "backends/fpga/codegen/outcome.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::fpga {

// Each fills in all of the layer but its maps. The op has passed its predicate in caps.

void ConvLayer(const OpCall& call, Layer& layer);

/// A map of height x width pixels whose rows, columns and channels are one row of the first factor:
/// a convolution with a window of the map's size.
void MatMulLayer(const OpCall& call, int height, int width, Layer& layer);

void MaxPoolLayer(const OpCall& call, Layer& layer);
void AveragePoolLayer(const OpCall& call, Layer& layer);
void MeanLayer(const OpCall& call, Layer& layer);

/// Gives each byte as it is: for what has no layer to be part of.
void IdentityLayer(int channels, Layer& layer);

/// The bytes of a lookup, as they are stored.
[[nodiscard]] std::array<int8_t, 256> LookupTable(const OpCall& call);

/// The sum of x and y, which is part of the layer that makes x; `swapped`: that makes y. `residual`
/// gets everything but the other map. False if no tables give the op's results.
[[nodiscard]] bool MakeResidual(const OpCall& call, bool swapped, Residual& residual);

/// The f32 with which a sum of `count` bytes becomes their average, halves away from zero; shown
/// for every sum. None if there is none.
[[nodiscard]] std::optional<float> AverageFactor(int count);

}  // namespace tenon::fpga
