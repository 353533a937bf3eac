#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "backends/cpu/kernels/portable/kernels.hpp"
#include "backends/cpu/kernels/portable/pool/pool_blocks.hpp"

namespace tenon::cpu::portable {
namespace {

template <typename T>
constexpr T Lowest() {
  return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                              : std::numeric_limits<T>::lowest();
}

/// NaN wins over every number, and then stays.
template <typename T>
T Larger(T best, T value) {
  return value > best || value != value ? value : best;
}

template <typename T>
void MaxPool(const KernelCall& call) {
  const auto& attributes = call.op.AttributesAs<PoolAttributes>();
  const TensorView& x = call.op.Input(0);
  const TensorView& y = call.op.Output();
  const ptrdiff_t x_stride = x.strides[1];
  ForEachPoolBlock(call, [&](const PoolBlock& block) {
    const T* data = x.As<const T>() + block.x;
    T best[kPoolLanes];
    for (T& value : best) value = Lowest<T>();
    // Worth its code only for the type that images have.
    const bool vectors = std::is_same_v<T, float> && x_stride == 1 && block.lanes == kPoolLanes;
    if (vectors) {
      ForEachTap(attributes, x, block, [&](ptrdiff_t offset) {
        for (int i = 0; i < kPoolLanes; ++i) best[i] = Larger(best[i], data[offset + i]);
      });
    } else {
      ForEachTap(attributes, x, block, [&](ptrdiff_t offset) {
        for (int i = 0; i < block.lanes; ++i) {
          best[i] = Larger(best[i], data[offset + i * x_stride]);
        }
      });
    }
    T* out = y.As<T>() + block.y;
    for (int i = 0; i < block.lanes; ++i) out[i * static_cast<ptrdiff_t>(y.strides[1])] = best[i];
  });
}

}  // namespace

Status MaxPoolRun(const KernelCall& call) {
  switch (call.op.Input(0).dtype) {
    case DType::kI8:
      MaxPool<int8_t>(call);
      break;
    case DType::kU8:
      MaxPool<uint8_t>(call);
      break;
    case DType::kI32:
      MaxPool<int32_t>(call);
      break;
    case DType::kI64:
      MaxPool<int64_t>(call);
      break;
    default:
      MaxPool<float>(call);
      break;
  }
  return OkStatus();
}

}  // namespace tenon::cpu::portable
