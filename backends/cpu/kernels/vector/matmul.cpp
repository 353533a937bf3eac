// Matrix product with constant weights by register tiles: rows are pixels.
#include "backends/cpu/caps/vector_caps.hpp"
#include "backends/cpu/kernels/vector/kernels.hpp"
#include "backends/cpu/kernels/vector/tile_product.hpp"

namespace tenon::cpu::vector {
namespace {

constexpr int kB = 1;
constexpr int kBias = 2;

}  // namespace

Status MatMulCheck(const KernelSetup& setup) {
  const OpCall& op = setup.op;
  TENON_RETURN_IF_ERROR(CheckResult(MatMulSupports(op)));
  TENON_ENSURE(op.Input(0).IsRowMajor() && op.Output().IsRowMajor(), kUnsupported,
               "vector products take row-major operands");
  TENON_ENSURE(op.Input(kB).data != nullptr && op.Input(kB).IsRowMajor(), kUnsupported,
               "vector products pack constant, dense weights");
  if (op.HasInput(kBias)) {
    TENON_ENSURE(op.Input(kBias).data != nullptr && op.Input(kBias).IsRowMajor(), kUnsupported,
                 "vector products take a constant, dense bias");
  }
  return OkStatus();
}

Status MatMulLoad(const KernelSetup& setup, void** shared) {
  const OpCall& op = setup.op;
  const auto& attributes = op.AttributesAs<MatMulAttributes>();
  const TensorView& a = op.Input(0);
  const TensorView& b = op.Input(kB);
  TileProductSpec spec;
  Geometry& g = spec.geometry;
  g.inputs = a.dims[a.rank - 1];
  g.outputs = op.Output().dims[op.Output().rank - 1];
  g.width = static_cast<int>(a.Elements() / g.inputs);
  g.out_width = g.width;
  g.x.channel = 1;
  g.x.pixel = g.inputs;
  const bool transposed = attributes.transpose_b != 0;
  spec.weights.data = b.As<const float>();
  spec.weights.output_step = transposed ? g.inputs : 1;
  spec.weights.input_step = transposed ? 1 : g.outputs;
  spec.weights.tap_step = 0;
  if (op.HasInput(kBias)) spec.bias = op.Input(kBias).As<const float>();
  spec.activation = attributes.activation;
  const int32_t dims[4] = {1, g.outputs, 1, g.width};
  const int32_t strides[4] = {0, 1, 0, g.outputs};
  TensorView y;
  y.dims = dims;
  y.strides = strides;
  y.rank = 4;
  const int32_t x_strides[4] = {0, 1, 0, g.inputs};
  TensorView x = y;
  x.strides = x_strides;
  return MakeTileProduct(spec, x, y, nullptr, shared);
}

Status MatMulRun(const KernelCall& call) {
  const auto& product = *static_cast<const TileProduct*>(call.state);
  RunTileProduct(product, call.op.Input(0).As<const float>(), nullptr, call.op.Output().As<float>(),
                 call.parallel);
  return OkStatus();
}

}  // namespace tenon::cpu::vector
