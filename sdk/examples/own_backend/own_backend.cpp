// A backend of one's own: the CPU's, with another softmax. Runs a plan with it.
// usage: own_backend PLAN
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "tenon/backend.hpp"
#include "tenon/tenon.hpp"

namespace {

int runs = 0;

/// Computes softmax over the last axis of row-major floats. CheckOpCall has checked the shapes.
tenon::Status CheckSoftmax(const tenon::KernelSetup& setup) {
  const tenon::TensorView& x = setup.op.Input(0);
  const auto& attributes = setup.op.AttributesAs<tenon::SoftmaxAttributes>();
  TENON_ENSURE(x.dtype == tenon::DType::kF32 && x.rank > 0 && x.IsRowMajor() &&
                   setup.op.Output().IsRowMajor() && attributes.axis == x.rank - 1,
               kUnsupported, "own softmax takes the last axis of row-major floats");
  return tenon::OkStatus();
}

tenon::Status RunSoftmax(const tenon::KernelCall& call) {
  ++runs;
  const tenon::TensorView& x = call.op.Input(0);
  const auto count = static_cast<size_t>(x.dims[x.rank - 1]);
  const size_t rows = count == 0 ? 0 : static_cast<size_t>(x.Elements()) / count;
  for (size_t row = 0; row < rows; ++row) {
    const float* in = x.As<float>() + row * count;
    float* out = call.op.Output().As<float>() + row * count;
    float most = in[0];
    for (size_t i = 1; i < count; ++i) most = std::fmax(most, in[i]);
    float sum = 0;
    for (size_t i = 0; i < count; ++i) sum += out[i] = std::exp(in[i] - most);
    for (size_t i = 0; i < count; ++i) out[i] /= sum;
  }
  return tenon::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: own_backend PLAN\n"), 2;
  // The first kernel of its kind that takes the operands stands in for one that is missing.
  const tenon::Backend& cpu = tenon_backend_table(tenon_backend_cpu());
  std::vector<tenon::KernelEntry> kernels;
  for (tenon::KernelEntry entry : cpu.kernels) {
    if (entry.row->kind == tenon::OpKind::kSoftmax) {
      if (!kernels.empty() && kernels.back().row == entry.row) continue;
      entry = {"cpu.softmax.own", entry.row, CheckSoftmax, nullptr, nullptr,
               RunSoftmax,        nullptr,   nullptr,      nullptr, nullptr};
    }
    kernels.push_back(entry);
  }
  const tenon::Backend own = {
      cpu.name, {kernels.data(), kernels.size()}, cpu.make_runner, cpu.free_runner, nullptr};

  const auto plan = tenon::Plan::Open(argv[1], 1, {tenon_backend_from(own)});
  if (!plan) return std::fprintf(stderr, "%s\n", plan.error().message.c_str()), 1;
  auto session = tenon::Session::Open(*plan);
  if (!session) return std::fprintf(stderr, "%s\n", session.error().message.c_str()), 1;
  std::memset(session->InputData(0), 0, plan->Input(0).bytes);
  if (const auto error = session->Run()) {
    return std::fprintf(stderr, "%s\n", error->message.c_str()), 1;
  }
  float sum = 0;
  for (size_t i = 0; i < plan->Output(0).bytes / sizeof(float); ++i) {
    sum += static_cast<const float*>(session->OutputData(0))[i];
  }
  std::printf("own softmax ran %d time(s), outputs add up to %.3f\n", runs, sum);
  return 0;
}
