// Normalises the rows of row-major tensors.
#include "backends/cpu/caps/f32_caps.hpp"
#include "backends/cpu/kernels/f32/choose_routines.hpp"
#include "backends/cpu/kernels/f32/kernels.hpp"
#include "backends/cpu/kernels/row_major_operands.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::f32 {
namespace {

using In = LayerNormInput;

/// Is the number of elements that cost about as much as waking a thread.
constexpr int64_t kSmallElements = 32'768;

}  // namespace

Status LayerNormCheck(const KernelSetup& setup) {
  const OpCall& op = setup.op;
  TENON_RETURN_IF_ERROR(CheckResult(LayerNormSupports(op)));
  TENON_ENSURE(HasRowMajorOperands(op), kUnsupported,
               "the vector layer_norm takes row-major tensors");
  return OkStatus();
}

Status LayerNormRun(const KernelCall& call) {
  const auto& routines = *static_cast<const Routines*>(call.state);
  const OpCall& op = call.op;
  const auto& attributes = op.AttributesAs<LayerNormAttributes>();
  const TensorView& x = op.Input(In::kX);
  LayerNormCall rows = {};
  rows.count = x.dims[x.rank - 1];
  rows.x_step = rows.y_step = rows.count;
  rows.scale = op.Input(In::kScale).As<const float>();
  rows.bias = op.HasInput(In::kBias) ? op.Input(In::kBias).As<const float>() : nullptr;
  rows.epsilon = attributes.epsilon;
  rows.rms = attributes.rms != 0;
  const bool is_small = x.Elements() < kSmallElements;
  const auto count = static_cast<int>(x.Elements() / rows.count);
  ParallelFor(is_small ? nullptr : call.parallel, count, [&](int begin, int end) {
    LayerNormCall part = rows;
    part.x = x.As<const float>() + int64_t{begin} * rows.count;
    part.y = op.Output().As<float>() + int64_t{begin} * rows.count;
    part.rows = end - begin;
    routines.layer_norm(part);
  });
  return OkStatus();
}

}  // namespace tenon::cpu::f32
