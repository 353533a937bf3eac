#include "backends/opencl/kernels/kernels.hpp"
#include "backends/opencl/kernels/row_launch.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::opencl {
namespace {

/// As in pool.cl.
struct AverageParameters {
  int32_t flip = 0, x_zero_point = 0;
  float scale = 1.0F;
  QuantizedOutput output;
};

/// Gives `launch` what all pools take.
Launch& PoolArguments(const KernelCall& call, Launch& launch) {
  const auto& attributes = call.op.AttributesAs<PoolAttributes>();
  const TensorView& x = call.op.Input(0);
  const TensorView& y = call.op.Output();
  const Int4 kernel_and_strides = {
      {attributes.kernel[0], attributes.kernel[1], attributes.strides[0], attributes.strides[1]}};
  return launch.Output()
      .Input(0)
      .Value(Four(y.dims))
      .Value(Four(x.dims))
      .Value(Four(y.strides))
      .Value(Four(x.strides))
      .Value(kernel_and_strides)
      .Value(Int4{{attributes.dilations[0], attributes.dilations[1], 0, 0}})
      .Value(Four(attributes.pads))
      .Value(attributes.count_include_pad);
}

}  // namespace

ProgramChoice MaxPoolChoice(const KernelSetup& setup) { return MaxPoolProgram(setup.op); }
ProgramChoice AveragePoolChoice(const KernelSetup& setup) { return AveragePoolProgram(setup.op); }

ProgramChoice QuantizedAveragePoolChoice(const KernelSetup&) {
  return {"pool.cl", "-DQUANTIZED", "quantized_average_pool"};
}

Status PoolRun(const KernelCall& call) {
  const TensorView& y = call.op.Output();
  const int vector = static_cast<CommandQueue*>(call.queue)->device().traits().vector_floats;
  const auto positions = static_cast<size_t>(y.dims[0]) * static_cast<size_t>(y.dims[2]) *
                         static_cast<size_t>(y.dims[3]);
  Launch launch(call);
  return PoolArguments(call, launch)
      .Enqueue(positions * static_cast<size_t>((y.dims[1] + vector - 1) / vector), kRowGroup);
}

Status QuantizedAveragePoolRun(const KernelCall& call) {
  const auto& attributes = call.op.AttributesAs<QuantizedAveragePoolAttributes>();
  if (call.op.Output().Elements() == 0) return OkStatus();
  Launch launch(call);
  return PoolArguments(call, launch)
      .Value(AverageParameters{SignFlip(call.op.Input(0).dtype), attributes.x_zero_point,
                               attributes.scale.scale, attributes.output})
      .Enqueue(static_cast<size_t>(call.op.Output().Elements()), kRowGroup);
}

}  // namespace tenon::opencl
