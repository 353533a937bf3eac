// A backend in a shared library of its own, for `tenon convert --backend` and `tenon run
// --backend`: it runs relu on row-major floats, and leaves everything else to others.
#include "tenon/backend.hpp"

namespace {

constexpr const char* kId = "mine.unary.plain";

tenon::Reason Supports(const tenon::OpCall& call) {
  const auto& attributes = call.AttributesAs<tenon::UnaryAttributes>();
  if (attributes.function != tenon::UnaryFunction::kRelu) return "runs relu alone";
  return call.Input(0).dtype == tenon::DType::kF32 ? nullptr : "runs f32 alone";
}

tenon::Status Check(const tenon::KernelSetup& setup) {
  TENON_RETURN_IF_ERROR(tenon::CheckResult(Supports(setup.op)));
  TENON_ENSURE(setup.op.Input(0).IsRowMajor() && setup.op.Output().IsRowMajor(), kUnsupported,
               "takes row-major tensors");
  return tenon::OkStatus();
}

tenon::Status Run(const tenon::KernelCall& call) {
  const tenon::TensorView& x = call.op.Input(0);
  const auto* in = x.As<const float>();
  auto* out = call.op.Output().As<float>();
  for (int64_t i = 0; i < x.Elements(); ++i) out[i] = in[i] > 0 ? in[i] : 0;
  return tenon::OkStatus();
}

/// The row of the op is that of any kernel of its kind that runs it already.
const tenon::OpRow* RowOf(tenon::OpKind kind) {
  for (const tenon::KernelEntry& entry :
       tenon_backend_table(tenon_backend_cpu_portable()).kernels) {
    if (entry.row->kind == kind) return entry.row;
  }
  return nullptr;
}

}  // namespace

/// What runs plans.
extern "C" TENON_API const tenon_backend* tenon_backend_module(void) {
  static const tenon::KernelEntry kernels[] = {
      {kId, RowOf(tenon::OpKind::kUnary), Check, nullptr, nullptr, Run, nullptr, nullptr, nullptr}};
  static const tenon::Backend backend = {"mine", {kernels, 1}, nullptr, nullptr, nullptr};
  return tenon_backend_from(backend);
}

/// What the converter asks.
extern "C" TENON_API const tenon::BackendCaps* tenon_backend_module_caps(void) {
  static constexpr tenon::KernelCaps kKernels[] = {
      tenon::Takes(Supports, tenon::LayoutNeed::kRowMajor).Named(kId, tenon::OpKind::kUnary)};
  static const tenon::BackendCaps caps = {"mine", {kKernels, 1}};
  return &caps;
}
