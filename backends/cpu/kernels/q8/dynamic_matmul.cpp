// Multiplies floats, brought to bytes by their own range, by constant weights of bytes. The sums
// take the place of the outputs, which are then made of them.
#include "backends/cpu/caps/q8_gemm_caps.hpp"
#include "backends/cpu/kernels/held_block.hpp"
#include "backends/cpu/kernels/q8/gemm_rows.hpp"
#include "backends/cpu/kernels/q8/kernels.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/dynamic_range.hpp"

namespace tenon::cpu::q8 {
namespace {

using In = DynamicMatMulInput;

/// What `load` makes: the weights in a block of their own, the rest in this one.
struct PackedDynamic {
  PackedGemm* gemm;
  const ByteRoutines* routines;
  int32_t* column_sums;  ///< of the weights less their zero points, modulo 2^32
  float* factors;        ///< the scale of each column
  size_t bytes;
};

int32_t ByteAt(const TensorView& view, int64_t offset) {
  return view.dtype == DType::kI8 ? view.As<const int8_t>()[offset]
                                  : view.As<const uint8_t>()[offset];
}

void FillColumns(const OpCall& op, PackedDynamic& packed) {
  const TensorView& b = op.Input(In::kWeights);
  const TensorView& scale = op.Input(In::kWeightsScale);
  for (int n = 0; n < b.dims[1]; ++n) {
    int32_t zero_point = 0;
    if (op.HasInput(In::kWeightsZeroPoint)) {
      const TensorView& zero_points = op.Input(In::kWeightsZeroPoint);
      zero_point = ByteAt(zero_points, zero_points.dims[0] == 1 ? 0 : n);
    }
    uint32_t sum = 0;
    for (int k = 0; k < b.dims[0]; ++k) {
      const int64_t at = int64_t{k} * b.strides[0] + int64_t{n} * b.strides[1];
      sum += static_cast<uint32_t>(ByteAt(b, at) - zero_point);
    }
    packed.column_sums[n] = static_cast<int32_t>(sum);
    packed.factors[n] = scale.As<const float>()[scale.dims[0] == 1 ? 0 : n];
  }
}

PackedDynamic* LayOut(BlockLayout& block, int columns) {
  auto* packed = block.Take<PackedDynamic>(1);
  auto* column_sums = block.Take<int32_t>(static_cast<size_t>(columns));
  auto* factors = block.Take<float>(static_cast<size_t>(columns));
  if (packed == nullptr) return nullptr;
  packed->column_sums = column_sums;
  packed->factors = factors;
  return packed;
}

/// One run.
class Product {
 public:
  explicit Product(const KernelCall& call)
      : op_(call.op),
        packed_(*static_cast<const PackedDynamic*>(call.state)),
        bytes_(FirstLine(call.workspace)) {
    const TensorView& a = op_.Input(In::kX);
    x_ = a.As<const float>();
    y_ = op_.Output().As<float>();
    depth_ = a.dims[a.rank - 1];
    rows_ = static_cast<int>(a.Elements() / depth_);
    columns_ = op_.Output().dims[op_.Output().rank - 1];
  }

  void Run(const ParallelRunner* parallel) {
    const int64_t work = int64_t{rows_} * depth_ * columns_;
    const ParallelRunner* runner = work < kSmallWork || rows_ == 1 ? nullptr : parallel;
    float bounds[2] = {0.0F, 0.0F};
    packed_.routines->range(x_, rows_ * depth_, bounds);
    range_ = DynamicRangeOf(bounds[0], bounds[1]);
    ParallelFor(runner, rows_, [&](int begin, int end) { QuantizeRows(begin, end); });
    MultiplyRows(parallel);
    ParallelFor(runner, rows_, [&](int begin, int end) { ScaleRows(begin, end); });
  }

 private:
  void QuantizeRows(int begin, int end) const {
    QuantizedOutput output;
    output.to = static_cast<int32_t>(DType::kU8);
    output.zero_point = range_.zero_point;
    output.min = 0;
    output.max = 255;
    const int64_t first = int64_t{begin} * depth_;
    QuantizeCall call = {};
    call.x = x_ + first;
    call.y = bytes_ + first;
    call.count = (end - begin) * depth_;
    call.scale = range_.scale;
    call.output = ByteOutputOf(output);
    packed_.routines->quantize(call);
  }

  void MultiplyRows(const ParallelRunner* parallel) const {
    constexpr int kSumBytes = 4;
    GemmRows rows;
    rows.x = bytes_;
    rows.y = op_.Output().As<uint8_t>();
    rows.depth = depth_;
    rows.width = rows_;
    rows.y_bytes = kSumBytes;
    rows.x_steps.pixel = depth_;
    rows.y_steps.pixel = int64_t{columns_} * kSumBytes;
    QuantizedOutput output;
    output.to = static_cast<int32_t>(DType::kI32);
    RunGemmRows(*packed_.gemm, MakeEpilogue(*packed_.gemm, output), rows, parallel);
  }

  void ScaleRows(int begin, int end) const {
    ScaleSumsCall call = {};
    call.column_sums = packed_.column_sums;
    call.factors = packed_.factors;
    call.count = columns_;
    call.zero_point = range_.zero_point;
    call.scale = range_.scale;
    const bool has_bias = op_.HasInput(In::kBias);
    const bool is_row = has_bias && op_.Input(In::kBias).Elements() == columns_;
    for (int row = begin; row < end; ++row) {
      call.y = y_ + int64_t{row} * columns_;
      if (has_bias) {
        call.bias = op_.Input(In::kBias).As<const float>() + (is_row ? 0 : int64_t{row} * columns_);
      }
      packed_.routines->scale_sums(call);
    }
  }

  const OpCall& op_;
  const PackedDynamic& packed_;
  uint8_t* bytes_;
  const float* x_;
  float* y_;
  int rows_;
  int depth_;
  int columns_;
  DynamicRange range_;
};

}  // namespace

Status DynamicMatMulCheck(const KernelSetup& setup) {
  const OpCall& op = setup.op;
  TENON_RETURN_IF_ERROR(CheckResult(DynamicMatMulSupports(op)));
  for (int i = 0; i < op.InputCount(); ++i) {
    TENON_ENSURE(!op.HasInput(i) || op.Input(i).IsRowMajor(), kUnsupported,
                 "fast products take row-major operands");
  }
  TENON_ENSURE(op.Output().IsRowMajor(), kUnsupported, "fast products take row-major operands");
  const auto needed = DynamicMatMulWorkspace(op, 1);
  TENON_ENSURE(setup.workspace_bytes >= needed, kUnsupported, "workspace of {0} bytes, {1} needed",
               static_cast<int64_t>(setup.workspace_bytes), static_cast<int64_t>(needed));
  return OkStatus();
}

Status DynamicMatMulLoad(const KernelSetup& setup, void** shared) {
  const OpCall& op = setup.op;
  const InnerProduct product(op);
  const TensorView& b = op.Input(In::kWeights);
  GemmShape shape;
  shape.outputs = b.dims[1];
  shape.channels = b.dims[0];
  GemmWeightsView weights;
  weights.data = b.As<const uint8_t>();
  weights.is_signed = b.dtype == DType::kI8;
  weights.output_step = b.strides[1];
  weights.channel_step = b.strides[0];
  const OpCall& inner = product.call();
  void* gemm = nullptr;
  TENON_RETURN_IF_ERROR(
      PackGemm(inner, shape, weights, inner.AttributesAs<QuantizedMatMulAttributes>().output, 1,
               WeightPasses(inner, MatMulOutputAxis(inner)), FitsWideRows(shape.channels), &gemm));
  BlockLayout measure(nullptr);
  LayOut(measure, b.dims[1]);
  void* memory = AllocateBlock(measure.bytes());
  if (memory == nullptr) FreeBlock(gemm);
  TENON_ENSURE(memory != nullptr, kOutOfMemory, "no memory for {0} bytes of packed weights",
               static_cast<int64_t>(measure.bytes()));
  BlockLayout block(memory);
  PackedDynamic* packed = LayOut(block, b.dims[1]);
  packed->gemm = static_cast<PackedGemm*>(gemm);
  packed->routines = &ChosenRoutines();
  packed->bytes = measure.bytes() + packed->gemm->bytes;
  FillColumns(op, *packed);
  *shared = packed;
  return OkStatus();
}

Status DynamicMatMulRun(const KernelCall& call) {
  Product(call).Run(call.parallel);
  return OkStatus();
}

void DynamicMatMulUnload(void* shared) {
  if (shared != nullptr) FreeBlock(static_cast<PackedDynamic*>(shared)->gemm);
  FreeBlock(shared);
}

size_t DynamicMatMulBytes(const void* shared, const void*) {
  return shared == nullptr ? 0 : static_cast<const PackedDynamic*>(shared)->bytes;
}

}  // namespace tenon::cpu::q8
