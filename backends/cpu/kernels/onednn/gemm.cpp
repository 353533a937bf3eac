#include "backends/cpu/kernels/onednn/gemm.hpp"

#include "backends/cpu/kernels/onednn/post_ops.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::onednn {
namespace {

using In = MatMulInput;

void RemoveAxis(Factor* factor, int rank, int axis) {
  for (int i = axis; i + 1 < rank; ++i) {
    factor->dims[i] = factor->dims[i + 1];
    factor->strides[i] = factor->strides[i + 1];
  }
}

/// True if axes `k` and `k + 1` can be walked as one.
bool CanMerge(const Factor& factor, int k) {
  return factor.dims[k] == 1 || factor.dims[k + 1] == 1 ||
         factor.strides[k] == factor.dims[k + 1] * factor.strides[k + 1];
}

void Merge(Factor* factor, int rank, int k) {
  if (factor->dims[k + 1] == 1) factor->strides[k + 1] = factor->strides[k];
  factor->dims[k + 1] *= factor->dims[k];
  RemoveAxis(factor, rank, k);
}

/// A repeated batch (stride 0) is oneDNN's broadcast: size 1.
void BroadcastRepeated(int rank, Factor* factor) {
  for (int i = 0; i + 2 < rank; ++i) {
    if (factor->strides[i] == 0) factor->dims[i] = 1;
  }
}

void NormaliseStrides(int rank, Factor* factor) {
  dnnl_dim_t dense = 1;
  for (int i = rank - 1; i >= 0; --i) {
    if (factor->dims[i] == 1) factor->strides[i] = dense;
    dense = factor->dims[i] * factor->strides[i];
  }
}

bool RowsWithoutGaps(int rank, const Factor& factor) {
  return factor.strides[rank - 1] == 1 && factor.strides[rank - 2] >= factor.dims[rank - 1];
}

bool ColumnsWithoutGaps(int rank, const Factor& factor) {
  return factor.strides[rank - 2] == 1 && factor.strides[rank - 1] >= factor.dims[rank - 2];
}

Status BiasDesc(const Gemm& gemm, dnnl_memory_desc_t* desc) {
  Factor bias;
  const int last = gemm.rank - 1;
  for (int i = 0; i < last; ++i) bias.dims[i] = 1;
  bias.dims[last] = gemm.y.dims[last];
  bias.strides[last] = 1;
  NormaliseStrides(gemm.rank, &bias);
  return MakeDesc(gemm.rank, bias.dims, bias.strides, desc);
}

Status FactorDesc(int rank, const Factor& factor, dnnl_memory_desc_t* desc) {
  return MakeDesc(rank, factor.dims, factor.strides, desc);
}

}  // namespace

void Simplify(Gemm* gemm) {
  BroadcastRepeated(gemm->rank, &gemm->a);
  BroadcastRepeated(gemm->rank, &gemm->b);
  while (gemm->rank > 2) {
    const int k = gemm->rank - 3;
    const bool same_rows = gemm->a.dims[k] == gemm->y.dims[k];
    if (gemm->b.dims[k] != 1 || !same_rows) break;
    if (!CanMerge(gemm->a, k) || !CanMerge(gemm->y, k)) break;
    Merge(&gemm->a, gemm->rank, k);
    Merge(&gemm->y, gemm->rank, k);
    RemoveAxis(&gemm->b, gemm->rank, k);
    --gemm->rank;
  }
  NormaliseStrides(gemm->rank, &gemm->a);
  NormaliseStrides(gemm->rank, &gemm->b);
  NormaliseStrides(gemm->rank, &gemm->y);
}

Status CheckStrides(const Gemm& gemm) {
  const int rank = gemm.rank;
  TENON_ENSURE(RowsWithoutGaps(rank, gemm.a) || ColumnsWithoutGaps(rank, gemm.a), kUnsupported,
               "oneDNN's product takes a first factor with dense rows or columns");
  TENON_ENSURE(RowsWithoutGaps(rank, gemm.b) || ColumnsWithoutGaps(rank, gemm.b), kUnsupported,
               "oneDNN's product takes a second factor with dense rows or columns");
  TENON_ENSURE(RowsWithoutGaps(rank, gemm.y), kUnsupported, "oneDNN's product writes dense rows");
  return OkStatus();
}

Status MakeGemm(const KernelSetup& setup, const Gemm& gemm, const Activation& activation,
                void** shared) {
  dnnl_memory_desc_t a;
  dnnl_memory_desc_t b_in_plan;
  dnnl_memory_desc_t bias;
  dnnl_memory_desc_t y;
  TENON_RETURN_IF_ERROR(FactorDesc(gemm.rank, gemm.a, &a));
  TENON_RETURN_IF_ERROR(FactorDesc(gemm.rank, gemm.b, &b_in_plan));
  TENON_RETURN_IF_ERROR(BiasDesc(gemm, &bias));
  TENON_RETURN_IF_ERROR(FactorDesc(gemm.rank, gemm.y, &y));
  const bool pack = gemm.rank == 2 && setup.op.Input(In::kWeights).data != nullptr;
  dnnl_memory_desc_t b = b_in_plan;
  if (pack) TENON_RETURN_IF_ERROR(AnyDesc(b_in_plan, &b));
  const bool has_bias = setup.op.HasInput(In::kBias);
  dnnl_matmul_desc_t desc;
  TENON_RETURN_IF_DNNL_ERROR(dnnl_matmul_desc_init(&desc, &a, &b, has_bias ? &bias : nullptr, &y));
  AttributesHandle attributes;
  TENON_RETURN_IF_ERROR(MakeAttributes(activation, /*add_destination=*/false, attributes));

  Binding bindings[4] = {{DNNL_ARG_SRC, In::kX}, {DNNL_ARG_DST, kOutput}};
  size_t count = 2;
  if (has_bias) bindings[count++] = {DNNL_ARG_BIAS, In::kBias};
  if (!pack) bindings[count++] = {DNNL_ARG_WEIGHTS, In::kWeights};
  PrimitiveSpec spec;
  spec.op_desc = &desc;
  spec.attributes = attributes.get();
  spec.bindings = {bindings, count};
  spec.weights_operand = pack ? In::kWeights : -1;
  spec.weights_in_plan = b_in_plan;
  return MakePrimitive(setup, spec, shared);
}

}  // namespace tenon::cpu::onednn
