#include <cstddef>
#include <cstdint>
#include <cstring>

#include "backends/cpu/caps/portable_supports.hpp"
#include "backends/cpu/kernels/portable/copy_strided.hpp"
#include "backends/cpu/kernels/portable/kernels.hpp"

namespace tenon::cpu::portable {
namespace {

/// True if both hold the elements in the same order without gaps. The order of images comes first:
/// asking for the other one takes longer than copying a few rows.
bool IsOnePiece(const TensorView& a, const TensorView& b) {
  return (a.IsChannelsLast() && b.IsChannelsLast()) || (a.IsRowMajor() && b.IsRowMajor());
}

/// In words: small C libraries copy byte by byte.
void CopyBytes(char* to, const char* from, size_t bytes) {
  constexpr size_t kWord = sizeof(uint32_t);
  for (; bytes >= 4 * kWord; bytes -= 4 * kWord, to += 4 * kWord, from += 4 * kWord) {
    uint32_t a;
    uint32_t b;
    uint32_t c;
    uint32_t d;
    std::memcpy(&a, from, kWord);
    std::memcpy(&b, from + kWord, kWord);
    std::memcpy(&c, from + 2 * kWord, kWord);
    std::memcpy(&d, from + 3 * kWord, kWord);
    std::memcpy(to, &a, kWord);
    std::memcpy(to + kWord, &b, kWord);
    std::memcpy(to + 2 * kWord, &c, kWord);
    std::memcpy(to + 3 * kWord, &d, kWord);
  }
  std::memcpy(to, from, bytes);
}

}  // namespace

Status CopyCheck(const KernelSetup& setup) { return CheckResult(CopySupports(setup.op)); }

Status CopyRun(const KernelCall& call) {
  constexpr int64_t kWorthThreads = 1 << 16;
  const TensorView& x = call.op.Input(0);
  const TensorView& y = call.op.Output();
  const int64_t bytes = y.Elements() * DTypeBytes(y.dtype);
  if (bytes <= kWorthThreads && IsOnePiece(x, y)) {  // where a start is most of the work
    if (bytes > 0) CopyBytes(y.As<char>(), x.As<const char>(), static_cast<size_t>(bytes));
    return OkStatus();
  }
  CopyView(y, x, call.parallel);
  return OkStatus();
}

}  // namespace tenon::cpu::portable
