// Multiplies matrices by one column each. Each item of work is some rows of one product.
#include "backends/cpu/caps/f32_caps.hpp"
#include "backends/cpu/kernels/f32/choose_routines.hpp"
#include "backends/cpu/kernels/f32/epilogue.hpp"
#include "backends/cpu/kernels/f32/kernels.hpp"
#include "backends/cpu/kernels/portable/indexing.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::f32 {
namespace {

/// Is the number of products that cost about as much as waking a thread.
constexpr int64_t kSmallWork = 65'536;
/// Rows of one item, a multiple of every vector's lanes: how a row is summed up does not depend on
/// how many threads there are.
constexpr int kItemRows = 64;

/// Adds the bias, one number, and applies the activation.
void Finish(const OpCall& op, const Routines& routines, float* y, int rows) {
  if (op.HasInput(MatMulInput::kBias)) {
    const float bias = *op.Input(MatMulInput::kBias).As<const float>();
    for (int i = 0; i < rows; ++i) y[i] += bias;
  }
  const Activation& activation = op.AttributesAs<MatMulAttributes>().activation;
  if (activation.function == UnaryFunction::kIdentity) return;
  Activate(routines, activation, y, rows, 1, rows);
}

}  // namespace

Status MatMulColumnCheck(const KernelSetup& setup) {
  const OpCall& op = setup.op;
  TENON_RETURN_IF_ERROR(CheckResult(MatMulColumnSupports(op)));
  TENON_ENSURE(op.Input(MatMulInput::kX).IsRowMajor() &&
                   op.Input(MatMulInput::kWeights).IsRowMajor() && op.Output().IsRowMajor(),
               kUnsupported, "vector products take row-major operands");
  return OkStatus();
}

Status MatMulColumnRun(const KernelCall& call) {
  const auto& routines = *static_cast<const Routines*>(call.state);
  const TensorView& a = call.op.Input(MatMulInput::kX);
  const TensorView& b = call.op.Input(MatMulInput::kWeights);
  const TensorView& y = call.op.Output();
  const int rows = y.dims[y.rank - 2];
  const int depth = a.dims[a.rank - 1];
  const int pieces = (rows + kItemRows - 1) / kItemRows;
  const auto items = static_cast<int>(y.Elements() / rows * pieces);
  const bool is_small = y.Elements() * depth < kSmallWork;
  ParallelFor(is_small ? nullptr : call.parallel, items, [&](int begin, int end) {
    for (int item = begin; item < end; ++item) {
      const int batch = item / pieces;
      const int first = item % pieces * kItemRows;
      ColumnCall part = {};
      part.a = a.As<const float>() + portable::BatchOffset(batch, y, a) + int64_t{first} * depth;
      part.column = b.As<const float>() + portable::BatchOffset(batch, y, b);
      part.y = y.As<float>() + int64_t{batch} * rows + first;
      part.a_step = depth;
      part.rows = rows - first < kItemRows ? rows - first : kItemRows;
      part.depth = depth;
      routines.column(part);
      Finish(call.op, routines, part.y, part.rows);
    }
  });
  return OkStatus();
}

}  // namespace tenon::cpu::f32
