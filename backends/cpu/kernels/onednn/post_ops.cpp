#include "backends/cpu/kernels/onednn/post_ops.hpp"

namespace tenon::cpu::onednn {
namespace {

using PostOpsHandle = Handle<dnnl_post_ops_t, dnnl_post_ops_destroy>;

struct Eltwise {
  dnnl_alg_kind_t algorithm = dnnl_alg_kind_undef;
  float alpha = 0.0F;
  float beta = 0.0F;
};

/// The one or two elementwise steps that make up an activation.
struct EltwisePair {
  Eltwise first;
  Eltwise second;
};

EltwisePair Steps(const Activation& activation) {
  const float a = activation.a;
  const float b = activation.b;
  switch (activation.function) {
    case UnaryFunction::kRelu:
      return {{dnnl_eltwise_relu}, {}};
    case UnaryFunction::kClip:
      return {{dnnl_eltwise_clip, a, b}, {}};
    case UnaryFunction::kLeakyRelu:
      return {{dnnl_eltwise_relu, a}, {}};
    case UnaryFunction::kSigmoid:
      return {{dnnl_eltwise_logistic}, {}};
    case UnaryFunction::kTanh:
      return {{dnnl_eltwise_tanh}, {}};
    case UnaryFunction::kHardSigmoid:
      return {{dnnl_eltwise_linear, a, b}, {dnnl_eltwise_clip, 0.0F, 1.0F}};
    case UnaryFunction::kHardSwish:
      return {{dnnl_eltwise_hardswish}, {}};
    case UnaryFunction::kElu:
      return {{dnnl_eltwise_elu, a}, {}};
    case UnaryFunction::kSelu:
      return {{dnnl_eltwise_elu, a}, {dnnl_eltwise_linear, b, 0.0F}};
    case UnaryFunction::kSilu:
      return {{dnnl_eltwise_swish, 1.0F}, {}};
    case UnaryFunction::kGelu:
      return {{dnnl_eltwise_gelu_erf}, {}};
    case UnaryFunction::kSoftplus:
      return {{dnnl_eltwise_soft_relu}, {}};
    case UnaryFunction::kMish:
      return {{dnnl_eltwise_mish}, {}};
    case UnaryFunction::kAbs:
      return {{dnnl_eltwise_abs}, {}};
    case UnaryFunction::kNeg:
      return {{dnnl_eltwise_linear, -1.0F, 0.0F}, {}};
    default:
      return {};
  }
}

Status Append(dnnl_post_ops_t post_ops, const Eltwise& step) {
  if (step.algorithm == dnnl_alg_kind_undef) return OkStatus();
  return FromDnnl(
      dnnl_post_ops_append_eltwise(post_ops, 1.0F, step.algorithm, step.alpha, step.beta));
}

}  // namespace

Status MakeAttributes(const Activation& activation, bool add_destination, AttributesHandle& made) {
  TENON_RETURN_IF_DNNL_ERROR(dnnl_primitive_attr_create(made.out()));
  TENON_RETURN_IF_DNNL_ERROR(
      dnnl_primitive_attr_set_scratchpad_mode(made.get(), dnnl_scratchpad_mode_user));
  PostOpsHandle post_ops;
  TENON_RETURN_IF_DNNL_ERROR(dnnl_post_ops_create(post_ops.out()));
  if (add_destination) {
    TENON_RETURN_IF_DNNL_ERROR(dnnl_post_ops_append_sum(post_ops.get(), 1.0F));
  }
  const EltwisePair steps = Steps(activation);
  TENON_RETURN_IF_ERROR(Append(post_ops.get(), steps.first));
  TENON_RETURN_IF_ERROR(Append(post_ops.get(), steps.second));
  return FromDnnl(dnnl_primitive_attr_set_post_ops(made.get(), post_ops.get()));
}

Status MakePlainPrimitive(const KernelSetup& setup, const_dnnl_op_desc_t op_desc, void** shared) {
  AttributesHandle no_post_ops;
  TENON_RETURN_IF_ERROR(MakeAttributes({}, /*add_destination=*/false, no_post_ops));
  const Binding bindings[] = {{DNNL_ARG_SRC, 0}, {DNNL_ARG_DST, kOutput}};
  PrimitiveSpec spec;
  spec.op_desc = op_desc;
  spec.attributes = no_post_ops.get();
  spec.bindings = bindings;
  return MakePrimitive(setup, spec, shared);
}

}  // namespace tenon::cpu::onednn
