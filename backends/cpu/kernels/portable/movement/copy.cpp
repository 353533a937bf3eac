#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "backends/cpu/kernels/portable/kernels.hpp"
#include "backends/cpu/kernels/portable/strided.hpp"

namespace tenon::cpu::portable {
namespace {

/// Returns true if both have the elements in the same order without gaps.
bool IsOnePiece(const TensorView& a, const TensorView& b) {
  return (a.IsChannelsLast() && b.IsChannelsLast()) || (a.IsRowMajor() && b.IsRowMajor());
}

/// The elements of two images that are both channels-last without gaps; 0 for others. What small
/// copies nearly always are: a few instructions, where the questions above are many.
size_t ImageElements(const TensorView& a, const TensorView& b) {
  if (a.rank != 4) return 0;
  size_t elements = 1;
  for (const int axis : {1, 3, 2, 0}) {
    const auto dim = static_cast<size_t>(a.dims[axis]);
    if (dim == 1) continue;
    if (static_cast<size_t>(a.strides[axis]) != elements) return 0;
    if (static_cast<size_t>(b.strides[axis]) != elements) return 0;
    elements *= dim;
  }
  return elements;
}

/// What a core moves by one instruction each way.
#if defined(__ARM_FEATURE_MVE)
using FourWords [[gnu::vector_size(16), gnu::aligned(4), gnu::may_alias]] = uint32_t;
#else
struct [[gnu::may_alias]] FourWords {
  uint32_t words[4];
};
#endif

/// Copies words, as many as small cores move at once: small C libraries copy byte by byte.
void CopyBytes(char* to, const char* from, size_t bytes) {
  constexpr size_t kStep = 4 * sizeof(FourWords);
  const auto low_bits = reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from);
  if (low_bits % alignof(FourWords) == 0) {
    for (; bytes >= kStep; bytes -= kStep, to += kStep, from += kStep) {
      auto* const there = reinterpret_cast<FourWords*>(to);
      const auto* const here = reinterpret_cast<const FourWords*>(from);
      there[0] = here[0];
      there[1] = here[1];
      there[2] = here[2];
      there[3] = here[3];
    }
  }
  for (; bytes >= sizeof(uint32_t); bytes -= sizeof(uint32_t)) {
    uint32_t word;
    std::memcpy(&word, from, sizeof word);
    std::memcpy(to, &word, sizeof word);
    to += sizeof word;
    from += sizeof word;
  }
  std::memcpy(to, from, bytes);
}

}  // namespace

Status CopyRun(const KernelCall& call) {
  constexpr int64_t kWorthThreads = 1 << 16;
  const TensorView& x = call.op.Input(0);
  const TensorView& y = call.op.Output();
  const size_t image = ImageElements(x, y);
  if (image != 0 && image <= kWorthThreads / sizeof(int64_t)) {
    CopyBytes(y.As<char>(), x.As<const char>(), image * static_cast<size_t>(DTypeBytes(y.dtype)));
    return OkStatus();
  }
  const int64_t bytes = y.Elements() * DTypeBytes(y.dtype);
  if (bytes <= kWorthThreads && IsOnePiece(x, y)) {  // where a start is most of the work
    if (bytes > 0) CopyBytes(y.As<char>(), x.As<const char>(), static_cast<size_t>(bytes));
    return OkStatus();
  }
  CopyView(y, x, call.parallel);
  return OkStatus();
}

}  // namespace tenon::cpu::portable
