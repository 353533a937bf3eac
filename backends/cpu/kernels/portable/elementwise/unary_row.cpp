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
void UnaryRow(UnaryFunction function, float a, float b, const float* x, float* y, int count) {
  switch (function) {
    case UnaryFunction::kIdentity:
      if (x != y) std::memcpy(y, x, sizeof(float) * static_cast<size_t>(count));
      return;
    case UnaryFunction::kRelu:
      return Map(x, y, count, [](float v) { return v < 0.0F ? 0.0F : v; });
    case UnaryFunction::kClip:
      return Map(x, y, count, [=](float v) {
        const float raised = v < a ? a : v;
        return raised > b ? b : raised;
      });
    case UnaryFunction::kLeakyRelu:
      return Map(x, y, count, [=](float v) {
        const float scaled = a * v;
        return v < 0.0F ? scaled : v;
      });
    case UnaryFunction::kSigmoid:
      return Map(x, y, count, math::Sigmoid);
    case UnaryFunction::kTanh:
      return Map(x, y, count, math::Tanh);
    case UnaryFunction::kHardSigmoid:
      return Map(x, y, count, [=](float v) { return math::HardSigmoid(v, a, b); });
    case UnaryFunction::kHardSwish:
      return Map(x, y, count, math::HardSwish);
    case UnaryFunction::kElu:
      return Map(x, y, count, [=](float v) { return math::Elu(v, a); });
    case UnaryFunction::kSelu:
      return Map(x, y, count, [=](float v) { return b * math::Elu(v, a); });
    case UnaryFunction::kSilu:
      return Map(x, y, count, math::Silu);
    case UnaryFunction::kGelu:
      return Map(x, y, count, math::Gelu);
    case UnaryFunction::kSoftplus:
      return Map(x, y, count, math::Softplus);
    case UnaryFunction::kSoftsign:
      return Map(x, y, count, math::Softsign);
    case UnaryFunction::kMish:
      return Map(x, y, count, math::Mish);
    case UnaryFunction::kExp:
      return Map(x, y, count, math::Exp);
    case UnaryFunction::kLog:
      return Map(x, y, count, math::Log);
    case UnaryFunction::kSqrt:
      return Map(x, y, count, [](float v) { return std::sqrt(v); });
    case UnaryFunction::kReciprocal:
      return Map(x, y, count, [](float v) { return 1.0F / v; });
    case UnaryFunction::kErf:
      return Map(x, y, count, math::Erf);
    case UnaryFunction::kAbs:
      return Map(x, y, count, math::Abs);
    case UnaryFunction::kNeg:
      return Map(x, y, count, [](float v) { return -v; });
    case UnaryFunction::kFloor:
      return Map(x, y, count, math::Floor);
    case UnaryFunction::kCeil:
      return Map(x, y, count, math::Ceil);
    case UnaryFunction::kRound:
      return Map(x, y, count, math::RoundHalfToEven);
    case UnaryFunction::kSign:
      return Map(x, y, count, math::Sign);
    case UnaryFunction::kSin:
      return Map(x, y, count, [](float v) { return std::sin(v); });
    case UnaryFunction::kCos:
      return Map(x, y, count, [](float v) { return std::cos(v); });
    case UnaryFunction::kNot:
      return Map(x, y, count, [](float v) { return v == 0.0F ? 1.0F : 0.0F; });
  }
}

}  // namespace tenon::cpu::portable
