// Makes bytes of sums.
#pragma once

#include "backends/cpu/kernels/cortex_m/routines.hpp"

namespace tenon::cpu::cortex_m::helium {

/// Requantises sums in the order of outputs, in any number.
void Requantize(const Rescale& rescale, const SumBlock& block);

/// Requantises sums of kBlockOutputs outputs, of which `block.outputs` are wanted. Their order is
/// 0, 2, 4, 6, 1, 3, 5, 7, so that those of even and odd outputs become halves of the same words.
/// It changes the sums.
void RequantizePairs(const Rescale& rescale, const SumBlock& block);

/// Is GemmRoutines::is_plain: true for fixed point and eight outputs with factors of their own.
bool IsPlain(const Rescale& rescale, int outputs);

/// Is RequantizePairs for eight outputs of a rescale that is_plain.
void RequantizePlain(const Rescale& rescale, const SumBlock& block);

/// Returns true for fixed point whose outputs may take all values of a byte.
bool IsWhole(const QuantizedOutput& output);
/// Returns true if all of these shifts are from -31 to -1. `count` is 1 or more.
bool AreToTheRight(const int8_t* shifts, int count);

/// See GemmRoutines.
void SubtractScaled(const int32_t* bias, const int32_t* sums, int32_t factor, int count,
                    int32_t* to);

/// See GemmRoutines.
void Fill(int8_t* to, int8_t value, ptrdiff_t count);

}  // namespace tenon::cpu::cortex_m::helium
