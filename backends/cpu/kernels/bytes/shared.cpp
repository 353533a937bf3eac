// What the kernels on bytes share.
#include "backends/cpu/kernels/bytes/choose_routines.hpp"
#include "backends/cpu/kernels/bytes/kernels.hpp"
#include "backends/cpu/kernels/vector/held_block.hpp"

namespace tenon::cpu::bytes {

Status Open(const KernelSetup&, void* shared, void** state) {
  *state = shared;
  return OkStatus();
}

void Unload(void* shared) { vector::FreeBlock(shared); }

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

ByteOutput ByteOutputOf(const QuantizedOutput& output) {
  const bool is_unsigned = output.to == static_cast<int32_t>(DType::kU8);
  const int32_t offset = is_unsigned ? 128 : 0;
  return {output.zero_point - offset, output.min - offset, output.max - offset,
          static_cast<uint8_t>(is_unsigned ? 0x80 : 0)};
}

}  // namespace tenon::cpu::bytes
