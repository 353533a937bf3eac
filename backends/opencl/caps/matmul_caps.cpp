#include "backends/opencl/caps/matmul_caps.hpp"

#include <initializer_list>

#include "backends/opencl/caps/tile_shapes.hpp"
#include "runtime/base/round_up.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/kernel_refusals.hpp"

namespace tenon::opencl {
namespace {

using In = MatMulInput;

constexpr int64_t kFloatBytes = sizeof(float);
constexpr int64_t kObjectBytes = 1024;

/// How the batches of a factor or bias lie beside the output's.
enum class Batches { kOne, kAll, kMixed };

Batches BatchesOf(const TensorView& view, const TensorView& y) {
  bool one = true;
  bool all = true;
  for (int k = 0; k + 2 < y.rank; ++k) {
    const int own = k - (y.rank - view.rank);
    const int32_t dim = own < 0 ? 1 : view.dims[own];
    one = one && dim == 1;
    all = all && dim == y.dims[k];
  }
  if (one) return Batches::kOne;
  return all ? Batches::kAll : Batches::kMixed;
}

/// Rows of a bias: 1, or as many as the output has.
int32_t RowsOf(const TensorView& bias) { return bias.rank < 2 ? 1 : bias.dims[bias.rank - 2]; }

int32_t BatchCount(const TensorView& y) {
  int32_t count = 1;
  for (int k = 0; k + 2 < y.rank; ++k) count *= y.dims[k];
  return count;
}

/// True if the output's rows, through all batches, pass through the bias at equal steps.
bool BiasIsFlat(const OpCall& call) {
  if (!call.HasInput(In::kBias)) return true;
  const TensorView& bias = call.Input(In::kBias);
  const TensorView& y = call.Output();
  const bool one_row = RowsOf(bias) == 1;
  if (BatchesOf(bias, y) == Batches::kAll) return !one_row || y.dims[y.rank - 2] == 1;
  return one_row || BatchCount(y) == 1;
}

/// Floats of the second factors and biases in the order of tiles, whatever the tile is.
int64_t PackedFloats(const MatMulShape& shape) {
  int64_t most = 0;
  for (const TileShape& tile : TileShapes()) {
    const int64_t columns = RoundUp<int64_t>(shape.columns, tile.width());
    if (columns > most) most = columns;
  }
  return shape.b_groups * most * (int64_t{shape.depth} + 1);
}

/// `packs`: a constant second factor may be stored in fewer bits, since it becomes f32 when it is
/// packed.
const char* CommonRefusal(const OpCall& call, bool packs) {
  return F32Refusal(call,
                    {"the OpenCL products run f32 only", "nothing to compute: left to the CPU",
                     "scales of weights must be constant", 1U << 3, packs});
}

}  // namespace

const char* MatMulReferenceSupports(const OpCall& call) {
  return CommonRefusal(call, /*packs=*/false);
}

const char* MatMulTileSupports(const OpCall& call) {
  if (const char* reason = CommonRefusal(call, /*packs=*/true)) return reason;
  const TensorView& y = call.Output();
  for (int factor = 0; factor < 2; ++factor) {
    if (BatchesOf(call.Input(factor), y) == Batches::kMixed) {
      return "a factor has some of the output's batches, not all or one";
    }
  }
  if (!call.HasInput(In::kBias)) return nullptr;
  const TensorView& bias = call.Input(In::kBias);
  if (bias.rank == 0 || bias.dims[bias.rank - 1] != y.dims[y.rank - 1]) {
    return "the bias has one value for all columns";
  }
  if (BatchesOf(bias, y) == Batches::kMixed) {
    return "the bias has some of the output's batches, not all or one";
  }
  return nullptr;
}

bool MatMulBiasIsPacked(const OpCall& call) {
  if (!call.HasInput(In::kBias) || call.Input(In::kBias).data == nullptr) return false;
  const TensorView& bias = call.Input(In::kBias);
  return bias.Elements() == bias.dims[bias.rank - 1];
}

MatMulShape MatMulShapeOf(const OpCall& call) {
  const auto& attributes = call.AttributesAs<MatMulAttributes>();
  const TensorView& a = call.Input(In::kX);
  const TensorView& y = call.Output();
  const int32_t batches = BatchCount(y);
  const bool one_b = BatchesOf(call.Input(In::kWeights), y) == Batches::kOne;
  MatMulShape shape;
  shape.rows = y.dims[y.rank - 2];
  shape.columns = y.dims[y.rank - 1];
  shape.depth = a.dims[a.rank - 1 - attributes.transpose_a];
  shape.flat =
      one_b && attributes.transpose_a == 0 && BatchesOf(a, y) == Batches::kAll && BiasIsFlat(call);
  if (shape.flat) {
    shape.rows *= batches;
  } else {
    shape.groups = batches;
  }
  shape.b_groups = one_b ? 1 : batches;
  return shape;
}

MatMulSteps MatMulStepsOf(const OpCall& call) {
  const auto& attributes = call.AttributesAs<MatMulAttributes>();
  const MatMulShape shape = MatMulShapeOf(call);
  const TensorView& y = call.Output();
  MatMulSteps steps;
  steps.a_row = attributes.transpose_a != 0 ? 1 : shape.depth;
  steps.a_depth = attributes.transpose_a != 0 ? shape.rows : 1;
  const bool one_a = BatchesOf(call.Input(In::kX), y) == Batches::kOne;
  steps.a_group = one_a ? 0 : shape.rows * shape.depth;
  if (!call.HasInput(In::kBias)) return steps;
  const TensorView& bias = call.Input(In::kBias);
  const bool one_row = RowsOf(bias) == 1;
  const bool all = BatchesOf(bias, y) == Batches::kAll;
  if (shape.flat) {
    steps.bias_row = one_row && !all ? 0 : shape.columns;
  } else {
    steps.bias_row = one_row ? 0 : shape.columns;
    steps.bias_group = all ? RowsOf(bias) * shape.columns : 0;
  }
  return steps;
}

size_t MatMulTileHeld(const OpCall& call) {
  int64_t floats = 0;
  if (call.Input(In::kWeights).data != nullptr) floats += PackedFloats(MatMulShapeOf(call));
  for (const int other : {0, 2}) {
    if (call.HasInput(other) && call.Input(other).data != nullptr) {
      floats += call.Input(other).Elements();
    }
  }
  return static_cast<size_t>(floats * kFloatBytes + 2 * kObjectBytes);
}

void MatMulPackingKey(const OpCall& call, PackingKey* key) {
  const auto& attributes = call.AttributesAs<MatMulAttributes>();
  key->AddWords(&attributes, sizeof(attributes) / sizeof(int32_t));
  for (int i = 0; i < call.InputCount(); ++i) {
    if (call.HasInput(i)) key->AddTensor(call.Input(i));
  }
}

size_t MatMulWorkspace(const OpCall& call, int) {
  if (call.Input(In::kWeights).data != nullptr) return 0;
  return static_cast<size_t>(PackedFloats(MatMulShapeOf(call)) * kFloatBytes);
}

size_t MatMulReferenceHeld(const OpCall& call) {
  int64_t floats = 0;
  for (int i = 0; i < call.InputCount(); ++i) {
    if (call.HasInput(i) && call.Input(i).data != nullptr) floats += call.Input(i).Elements();
  }
  return static_cast<size_t>(floats * kFloatBytes + 2 * kObjectBytes);
}

}  // namespace tenon::opencl
