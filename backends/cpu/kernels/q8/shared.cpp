// Implements what the kernels on bytes share.
#include "backends/cpu/kernels/held_block.hpp"
#include "backends/cpu/kernels/q8/byte_routines.hpp"
#include "backends/cpu/kernels/q8/kernels.hpp"

namespace tenon::cpu::q8 {

Status Open(const KernelSetup&, void* shared, void** state) {
  *state = shared;
  return OkStatus();
}

void Unload(void* shared) { FreeBlock(shared); }

Status OpenRoutines(const KernelSetup&, void*, void** state) {
  *state = const_cast<ByteRoutines*>(&ChosenRoutines());
  return OkStatus();
}

Status CheckDenseChannels(const OpCall& op) {
  const TensorView* const views[] = {&op.Input(0), &op.Output()};
  for (const TensorView* view : views) {
    TENON_ENSURE(view->dims[1] == 1 || view->strides[1] == 1, kUnsupported,
                 "channels must be neighbours in memory");
  }
  return OkStatus();
}

FixedPointFactor FactorOf(const QuantizedScale& scale) {
  // The shape rule keeps shifts from -31 to 30.
  return {scale.multiplier, scale.shift > 0 ? scale.shift : 0, scale.shift < 0 ? -scale.shift : 0};
}

ByteOutput ByteOutputOf(const QuantizedOutput& output) {
  const auto dtype = static_cast<DType>(output.to);
  const int32_t offset = OffsetToI8(dtype);
  return {output.zero_point - offset, output.min - offset, output.max - offset, FlipToI8(dtype)};
}

}  // namespace tenon::cpu::q8
