// Turns rows of bytes into shares of one.
#include "backends/cpu/caps/q8_caps.hpp"
#include "backends/cpu/kernels/portable/quantized_values.hpp"
#include "backends/cpu/kernels/portable/reduce/fixed_point_softmax.hpp"
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

/// Is the number of differences of two bytes that are not positive.
constexpr int kDifferences = 256;

/// Contains the exponential of every difference, where there are more elements than those.
struct ExponentialTable {
  int32_t exponentials[kDifferences];
};

int32_t LargestOf(const uint8_t* x, int count, uint8_t flip) {
  int8_t largest = INT8_MIN;
  for (int i = 0; i < count; ++i) {
    const auto value = static_cast<int8_t>(x[i] ^ flip);
    largest = value > largest ? value : largest;
  }
  return largest;
}

/// Computes one row in fixed point; `exponential_at` takes how much less an element is than the
/// largest.
template <typename ExponentialAt>
void FixedPointRow(const SoftmaxCall& call, const QuantizedOutput& output, const uint8_t* x,
                   uint8_t* y, const ExponentialAt& exponential_at) {
  namespace fixed_point = portable::fixed_point;
  const int32_t largest = LargestOf(x, call.count, call.flip);
  const auto exponential = [&](int i) {
    return exponential_at(largest - static_cast<int8_t>(x[i] ^ call.flip));
  };
  uint32_t sum = 0;
  for (int i = 0; i < call.count; ++i) {
    sum += static_cast<uint32_t>(fixed_point::Summand(exponential(i)));
  }
  const fixed_point::Share share = fixed_point::ShareOf(sum);
  for (int i = 0; i < call.count; ++i) {
    y[i] = portable::OutputByte(output, share.Of(exponential(i)));
  }
}

void RunFixedPoint(const KernelCall& call, const SoftmaxCall& whole) {
  const auto& attributes = call.op.AttributesAs<QuantizedSoftmaxAttributes>();
  const TensorView& x = call.op.Input(0);
  const auto rows = static_cast<int>(x.Elements() / whole.count);
  const auto exponential_of = [&](int32_t less) {
    return portable::fixed_point::ExpOfDifference(attributes, -less);
  };
  ExponentialTable table;
  const bool has_table = x.Elements() > kDifferences;
  for (int i = 0; has_table && i < kDifferences; ++i) table.exponentials[i] = exponential_of(i);
  const bool is_small = x.Elements() < kSmallElements;
  ParallelFor(is_small ? nullptr : call.parallel, rows, [&](int begin, int end) {
    for (int row = begin; row < end; ++row) {
      const uint8_t* from = x.As<const uint8_t>() + int64_t{row} * whole.count;
      uint8_t* to = call.op.Output().As<uint8_t>() + int64_t{row} * whole.count;
      if (has_table) {
        FixedPointRow(whole, attributes.output, from, to,
                      [&](int32_t less) { return table.exponentials[less]; });
      } else {
        FixedPointRow(whole, attributes.output, from, to, exponential_of);
      }
    }
  });
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
  const auto& attributes = call.op.AttributesAs<QuantizedSoftmaxAttributes>();
  if (attributes.output.rounding == Rounding::kFixedPoint) {
    RunFixedPoint(call, whole);
    return OkStatus();
  }
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
