// From sums to bytes.
#pragma once

#include "backends/cpu/kernels/cortex_m/routines.hpp"

namespace tenon::cpu::cortex_m::helium {

/// Sums in the order of outputs, in any number.
void Requantize(const Rescale& rescale, const SumBlock& block);

/// Sums of kBlockOutputs outputs, of which `block.outputs` are wanted, in the order 0, 2, 4, 6, 1,
/// 3, 5, 7: so that those of even and odd ones become halves of the same words. Changes the sums.
void RequantizePairs(const Rescale& rescale, const SumBlock& block);

/// See GemmRoutines: in fixed point, of eight outputs with factors of their own.
bool IsPlain(const Rescale& rescale, int outputs);

/// RequantizePairs of eight outputs of a rescale that is_plain.
void RequantizePlain(const Rescale& rescale, const SumBlock& block);

/// In fixed point to all values of a byte.
bool IsWhole(const QuantizedOutput& output);
/// True if all of these shifts are of -31 to -1. `count`: 1 or more.
bool AreToTheRight(const int8_t* shifts, int count);

/// See GemmRoutines.
void SubtractScaled(const int32_t* bias, const int32_t* sums, int32_t factor, int count,
                    int32_t* to);

/// See GemmRoutines.
void Fill(int8_t* to, int8_t value, ptrdiff_t count);

}  // namespace tenon::cpu::cortex_m::helium
