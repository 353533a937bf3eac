// Computes softmax along the dimension that is innermost in memory, or along one within which
// others are.
#include "backends/cpu/caps/f32_caps.hpp"
#include "backends/cpu/kernels/f32/choose_routines.hpp"
#include "backends/cpu/kernels/f32/kernels.hpp"
#include "backends/cpu/kernels/f32/pixel_runs.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::f32 {
namespace {

/// Is the number of elements whose exponentials cost about as much as waking a thread.
constexpr int64_t kSmallElements = 16'384;
/// Is the number of columns that one item of work takes.
constexpr int kBlockColumns = 64;

/// Computes softmax along a dimension that is not the innermost of row-major tensors.
void RunColumns(const KernelCall& call) {
  const auto& routines = *static_cast<const Routines*>(call.state);
  const auto& attributes = call.op.AttributesAs<SoftmaxAttributes>();
  const TensorView& x = call.op.Input(0);
  const TensorView& y = call.op.Output();
  if (x.Elements() == 0) return;
  const int count = x.dims[attributes.axis];
  int columns = 1;
  for (int k = attributes.axis + 1; k < x.rank; ++k) columns *= x.dims[k];
  const int pieces = (columns + kBlockColumns - 1) / kBlockColumns;
  const auto blocks = static_cast<int>(x.Elements() / count / columns * pieces);
  const bool small = x.Elements() < kSmallElements;
  ParallelFor(small ? nullptr : call.parallel, blocks, [&](int begin, int end) {
    for (int block = begin; block < end; ++block) {
      const int first = block % pieces * kBlockColumns;
      const int64_t offset = int64_t{block / pieces} * count * columns + first;
      SoftmaxCall part = {};
      part.x = x.As<const float>() + offset;
      part.y = y.As<float>() + offset;
      part.stride = columns;
      part.rows = columns - first < kBlockColumns ? columns - first : kBlockColumns;
      part.count = count;
      part.log = attributes.log != 0;
      routines.softmax(part);
    }
  });
}

}  // namespace

Status SoftmaxCheck(const KernelSetup& setup) {
  TENON_RETURN_IF_ERROR(CheckResult(SoftmaxSupports(setup.op)));
  TENON_ENSURE(setup.op.Input(0).IsRowMajor() && setup.op.Output().IsRowMajor(), kUnsupported,
               "the vector softmax takes row-major tensors");
  return OkStatus();
}

Status ChannelSoftmaxCheck(const KernelSetup& setup) {
  TENON_RETURN_IF_ERROR(CheckResult(ChannelSoftmaxSupports(setup.op)));
  return CheckDenseChannels(setup.op);
}

Status SoftmaxRun(const KernelCall& call) {
  const auto& routines = *static_cast<const Routines*>(call.state);
  const auto& attributes = call.op.AttributesAs<SoftmaxAttributes>();
  const TensorView& x = call.op.Input(0);
  const TensorView& y = call.op.Output();
  const bool along_last = attributes.axis == x.rank - 1;
  if (!along_last && x.IsRowMajor() && y.IsRowMajor()) {
    RunColumns(call);
    return OkStatus();
  }
  const PixelRuns runs = along_last ? PixelRuns::OfRows(x) : PixelRuns::OfImages(x, y);
  const bool small = x.Elements() < kSmallElements;
  ParallelFor(small ? nullptr : call.parallel, runs.pixels(), [&](int begin, int end) {
    while (begin < end) {
      const PixelRun run = runs.Run(begin, end);
      SoftmaxCall rows = {};
      rows.x = x.As<const float>() + run.x;
      rows.y = y.As<float>() + run.y;
      rows.x_step = run.x_step;
      rows.y_step = run.y_step;
      rows.rows = run.pixels;
      rows.count = x.dims[attributes.axis];
      rows.log = attributes.log != 0;
      routines.softmax(rows);
      begin += run.pixels;
    }
  });
  return OkStatus();
}

}  // namespace tenon::cpu::f32
