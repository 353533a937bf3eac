// Computes functions of one element.
#include "backends/cpu/caps/f32_caps.hpp"
#include "backends/cpu/kernels/f32/choose_routines.hpp"
#include "backends/cpu/kernels/f32/kernels.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::f32 {
namespace {

/// Is the number of elements that cost about as much as waking a thread.
constexpr int64_t kSmallElements = 16'384;
/// Is the number of elements that one item of work takes.
constexpr int64_t kBlockElements = 4'096;

/// Returns true if the tensors lie in memory alike and without gaps.
bool AreDenseAlike(const TensorView& x, const TensorView& y) {
  int64_t last = 0;
  for (int i = 0; i < x.rank; ++i) {
    if (x.dims[i] == 1) continue;
    if (x.strides[i] <= 0 || x.strides[i] != y.strides[i]) return false;
    last += int64_t{x.dims[i] - 1} * x.strides[i];
  }
  return last + 1 == x.Elements();
}

}  // namespace

Status UnaryCheck(const KernelSetup& setup) {
  TENON_RETURN_IF_ERROR(CheckResult(UnarySupports(setup.op)));
  TENON_ENSURE(AreDenseAlike(setup.op.Input(0), setup.op.Output()), kUnsupported,
               "the vector unary takes tensors that lie in memory alike, without gaps");
  return OkStatus();
}

Status UnaryRun(const KernelCall& call) {
  const auto& routines = *static_cast<const Routines*>(call.state);
  const auto& attributes = call.op.AttributesAs<UnaryAttributes>();
  const auto* x = call.op.Input(0).As<const float>();
  auto* y = call.op.Output().As<float>();
  const int64_t elements = call.op.Output().Elements();
  const auto blocks = static_cast<int>((elements + kBlockElements - 1) / kBlockElements);
  ParallelFor(elements < kSmallElements ? nullptr : call.parallel, blocks, [&](int begin, int end) {
    for (int block = begin; block < end; ++block) {
      const int64_t first = block * kBlockElements;
      const int64_t left = elements - first;
      const auto count = static_cast<int>(left < kBlockElements ? left : kBlockElements);
      routines.activate({attributes.function, attributes.a, attributes.b, x + first, kBlockElements,
                         y + first, kBlockElements, 1, count});
    }
  });
  return OkStatus();
}

}  // namespace tenon::cpu::f32
