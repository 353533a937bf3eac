// Every fast kernel on i8 and u8. All are exact: they give the bits that the portable kernels give,
// on every instruction set and whatever the number of threads.
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

Status MatMulCheck(const KernelSetup& setup);
Status MatMulLoad(const KernelSetup& setup, void** shared);
Status MatMulRun(const KernelCall& call);

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
Status MaxPoolCheck(const KernelSetup& setup);
Status MaxPoolRun(const KernelCall& call);
Status AveragePoolCheck(const KernelSetup& setup);
Status AveragePoolRun(const KernelCall& call);
/// Sums over the rows and columns of images.
Status ImageSumCheck(const KernelSetup& setup);
Status ImageSumRun(const KernelCall& call);

// What they share.

/// `open` and `unload` of those that load: a session's state is what was loaded.
Status Open(const KernelSetup& setup, void* shared, void** state);
void Unload(void* shared);
/// The state is the routines that were chosen.
Status OpenRoutines(const KernelSetup& setup, void* shared, void** state);

/// Inputs from the third on are dense.
Status CheckVectors(const OpCall& op);
/// Channels of the input and of the output, image tensors, are neighbours in memory.
Status CheckDenseChannels(const OpCall& op);

// Bytes of both dtypes go through the same code: xor a flip they are those of i8 or of u8.
[[nodiscard]] constexpr uint8_t FlipToI8(DType dtype) { return dtype == DType::kU8 ? 0x80 : 0; }
[[nodiscard]] constexpr uint8_t FlipToU8(DType dtype) { return dtype == DType::kI8 ? 0x80 : 0; }
/// What a value loses by FlipToI8.
[[nodiscard]] constexpr int32_t OffsetToI8(DType dtype) { return dtype == DType::kU8 ? 128 : 0; }

[[nodiscard]] FixedPointFactor FactorOf(const QuantizedScale& scale);

/// Of an output of i8 or u8.
[[nodiscard]] ByteOutput ByteOutputOf(const QuantizedOutput& output);

}  // namespace tenon::cpu::q8
