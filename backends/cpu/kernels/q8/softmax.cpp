// Turns rows of bytes into shares of one.
#include "backends/cpu/caps/q8_caps.hpp"
#include "backends/cpu/kernels/q8/kernels.hpp"
#include "backends/cpu/kernels/row_major_operands.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::q8 {
namespace {

/// Is the number of elements that cost about as much as waking a thread.
constexpr int64_t kSmallElements = 16'384;

SoftmaxCall CallOf(const OpCall& op) {
  const TensorView& x = op.Input(0);
  const auto& attributes = op.AttributesAs<QuantizedSoftmaxAttributes>();
  SoftmaxCall call = {};
  call.count = x.dims[x.rank - 1];
  call.flip = FlipToI8(x.dtype);
  call.offset = OffsetToI8(x.dtype);
  call.scale = attributes.scale.scale;
  call.output_scale = attributes.output_scale;
  call.output = ByteOutputOf(attributes.output);
  return call;
}

}  // namespace

Status SoftmaxCheck(const KernelSetup& setup) {
  TENON_RETURN_IF_ERROR(CheckResult(SoftmaxSupports(setup.op)));
  TENON_ENSURE(HasRowMajorOperands(setup.op), kUnsupported,
               "the softmax of bytes takes row-major tensors");
  return OkStatus();
}

Status SoftmaxRun(const KernelCall& call) {
  const auto& routines = *static_cast<const ByteRoutines*>(call.state);
  const TensorView& x = call.op.Input(0);
  const SoftmaxCall whole = CallOf(call.op);
  const bool is_small = x.Elements() < kSmallElements;
  const auto rows = static_cast<int>(x.Elements() / whole.count);
  ParallelFor(is_small ? nullptr : call.parallel, rows, [&](int begin, int end) {
    SoftmaxCall part = whole;
    part.rows = end - begin;
    part.x = x.As<const uint8_t>() + int64_t{begin} * whole.count;
    part.y = call.op.Output().As<uint8_t>() + int64_t{begin} * whole.count;
    routines.softmax(part);
  });
  return OkStatus();
}

}  // namespace tenon::cpu::q8
