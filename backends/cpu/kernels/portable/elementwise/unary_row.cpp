#include <cmath>
#include <cstring>

#include "backends/cpu/kernels/portable/elementwise/functions.hpp"
#include "backends/cpu/kernels/portable/math.hpp"
#include "backends/cpu/kernels/portable/strided.hpp"

namespace tenon::cpu::portable {
namespace {

template <typename Function>
inline __attribute__((always_inline)) void Map(const float* x, float* y, int count,
                                               Function function) {
  TENON_INDEPENDENT_LOOP
  for (int i = 0; i < count; ++i) y[i] = function(x[i]);
}

}  // namespace

// On x86 the program picks the form for the processor it runs on when it starts; without fused
// multiply-add the wider vectors give the same bits. Sanitizers cannot stand code that runs so
// early.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
[[gnu::target_clones("default", "avx2")]]
#endif
void UnaryRow(UnaryFunction function, float a, float b, const float* from, float* to, int count) {
  if (function == UnaryFunction::kIdentity) {
    if (from != to) std::memcpy(to, from, sizeof(float) * static_cast<size_t>(count));
    return;
  }
  switch (function) {
#define TENON_UNARY_FORMULA(Kind, in_floats, in_doubles) \
  case UnaryFunction::k##Kind:                           \
    return Map(                                          \
        from, to, count, [=](float x) __attribute__((always_inline)) { return in_floats; });
#include "backends/cpu/kernels/portable/elementwise/unary_functions.inc"
#undef TENON_UNARY_FORMULA
  }
}

}  // namespace tenon::cpu::portable
