// Declares every fast kernel on i8 and u8. All are exact: they give the bits that the portable
// kernels give, on every instruction set and with any number of threads.
#pragma once

#include "backends/cpu/kernels/q8/byte_routines.hpp"
#include "runtime/backend_api/kernel.hpp"
#include "runtime/base/dtype.hpp"
#include "runtime/base/status.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::q8 {

Status ConvCheck(const KernelSetup& setup);
Status ConvLoad(const KernelSetup& setup, void** shared);
Status ConvRun(const KernelCall& call);

Status WinogradCheck(const KernelSetup& setup);
Status WinogradLoad(const KernelSetup& setup, void** shared);
Status WinogradRun(const KernelCall& call);

Status MatMulCheck(const KernelSetup& setup);
Status MatMulLoad(const KernelSetup& setup, void** shared);
Status MatMulRun(const KernelCall& call);

Status PackingMatMulCheck(const KernelSetup& setup);
Status PackingMatMulLoad(const KernelSetup& setup, void** shared);
Status PackingMatMulRun(const KernelCall& call);

Status DynamicMatMulCheck(const KernelSetup& setup);
Status DynamicMatMulLoad(const KernelSetup& setup, void** shared);
Status DynamicMatMulRun(const KernelCall& call);
void DynamicMatMulUnload(void* shared);
size_t DynamicMatMulBytes(const void* shared, const void* state);

Status DepthwiseCheck(const KernelSetup& setup);
Status DepthwiseLoad(const KernelSetup& setup, void** shared);
Status DepthwiseRun(const KernelCall& call);
size_t DepthwiseBytes(const void* shared, const void* state);

// These have nothing to pack: their state is the routines that were chosen.
Status LookupCheck(const KernelSetup& setup);
Status LookupRun(const KernelCall& call);
Status BinaryCheck(const KernelSetup& setup);
Status BinaryRun(const KernelCall& call);
Status QuantizeCheck(const KernelSetup& setup);
Status QuantizeRun(const KernelCall& call);
Status DequantizeCheck(const KernelSetup& setup);
Status DequantizeRun(const KernelCall& call);
Status QuantizeWordsCheck(const KernelSetup& setup);
Status QuantizeWordsRun(const KernelCall& call);
Status DequantizeWordsCheck(const KernelSetup& setup);
Status DequantizeWordsRun(const KernelCall& call);
Status LayerNormCheck(const KernelSetup& setup);
Status LayerNormRun(const KernelCall& call);
Status SoftmaxCheck(const KernelSetup& setup);
Status SoftmaxRun(const KernelCall& call);
Status MaxPoolCheck(const KernelSetup& setup);
Status MaxPoolRun(const KernelCall& call);
Status AveragePoolCheck(const KernelSetup& setup);
Status AveragePoolRun(const KernelCall& call);
/// These compute sums over the rows and columns of images.
Status ImageSumCheck(const KernelSetup& setup);
Status ImageSumRun(const KernelCall& call);

// The kernels share what follows.

/// Are `open` and `unload` of the kernels with a `load`: a session's state is what was loaded.
Status Open(const KernelSetup& setup, void* shared, void** state);
void Unload(void* shared);
/// Makes the chosen routines the state.
Status OpenRoutines(const KernelSetup& setup, void* shared, void** state);

/// Checks that the inputs from the third on are dense.
Status CheckVectors(const OpCall& op);
/// Checks that the channels of the input and of the output, which are image tensors, are
/// contiguous.
Status CheckDenseChannels(const OpCall& op);

// Bytes of both dtypes go through the same code: combined with a flip by xor, they become i8 or u8.
[[nodiscard]] constexpr uint8_t FlipToI8(DType dtype) { return dtype == DType::kU8 ? 0x80 : 0; }
[[nodiscard]] constexpr uint8_t FlipToU8(DType dtype) { return dtype == DType::kI8 ? 0x80 : 0; }
/// Returns what FlipToI8 subtracts from a value.
[[nodiscard]] constexpr int32_t OffsetToI8(DType dtype) { return dtype == DType::kU8 ? 128 : 0; }

[[nodiscard]] FixedPointFactor FactorOf(const QuantizedScale& scale);

/// Returns the ByteOutput of an output of i8 or u8.
[[nodiscard]] ByteOutput ByteOutputOf(const QuantizedOutput& output);

}  // namespace tenon::cpu::q8
