// Normalises rows of bytes.
#include "backends/cpu/caps/q8_caps.hpp"
#include "backends/cpu/kernels/q8/kernels.hpp"
#include "backends/cpu/kernels/row_major_operands.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::q8 {
namespace {

using In = LayerNormInput;

/// Is the number of elements that cost about as much as waking a thread.
constexpr int64_t kSmallElements = 65'536;

LayerNormCall CallOf(const OpCall& op) {
  const TensorView& x = op.Input(In::kX);
  const auto& attributes = op.AttributesAs<LayerNormAttributes>();
  LayerNormCall row = {};
  row.count = x.dims[x.rank - 1];
  row.scale = op.Input(In::kScale).As<const float>();
  row.bias = op.HasInput(In::kBias) ? op.Input(In::kBias).As<const float>() : nullptr;
  row.epsilon = attributes.epsilon;
  row.rms = attributes.rms != 0;
  row.flip = FlipToI8(x.dtype);
  row.least = x.dtype == DType::kI8 ? -128.0F : 0.0F;
  row.most = x.dtype == DType::kI8 ? 127.0F : 255.0F;
  return row;
}

}  // namespace

Status LayerNormCheck(const KernelSetup& setup) {
  const OpCall& op = setup.op;
  TENON_RETURN_IF_ERROR(CheckResult(LayerNormSupports(op)));
  TENON_ENSURE(HasRowMajorOperands(op), kUnsupported,
               "the layer_norm of bytes takes row-major tensors");
  return OkStatus();
}

Status LayerNormRun(const KernelCall& call) {
  const auto& routines = *static_cast<const ByteRoutines*>(call.state);
  const TensorView& x = call.op.Input(In::kX);
  const LayerNormCall whole = CallOf(call.op);
  const bool is_small = x.Elements() < kSmallElements;
  const auto rows = static_cast<int>(x.Elements() / whole.count);
  ParallelFor(is_small ? nullptr : call.parallel, rows, [&](int begin, int end) {
    LayerNormCall row = whole;
    for (int i = begin; i < end; ++i) {
      row.x = x.As<const uint8_t>() + int64_t{i} * whole.count;
      row.y = call.op.Output().As<uint8_t>() + int64_t{i} * whole.count;
      routines.layer_norm(row);
    }
  });
  return OkStatus();
}

}  // namespace tenon::cpu::q8
