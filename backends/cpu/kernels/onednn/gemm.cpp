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

Status BiasDesc(const Product& product, dnnl_memory_desc_t* desc) {
  Factor bias;
  const int last = product.rank - 1;
  for (int i = 0; i < last; ++i) bias.dims[i] = 1;
  bias.dims[last] = product.y.dims[last];
  bias.strides[last] = 1;
  NormaliseStrides(product.rank, &bias);
  return MakeDesc(product.rank, bias.dims, bias.strides, desc);
}

Status FactorDesc(int rank, const Factor& factor, dnnl_memory_desc_t* desc) {
  return MakeDesc(rank, factor.dims, factor.strides, desc);
}

}  // namespace

void Simplify(Product* product) {
  BroadcastRepeated(product->rank, &product->a);
  BroadcastRepeated(product->rank, &product->b);
  while (product->rank > 2) {
    const int k = product->rank - 3;
    const bool same_rows = product->a.dims[k] == product->y.dims[k];
    if (product->b.dims[k] != 1 || !same_rows) break;
    if (!CanMerge(product->a, k) || !CanMerge(product->y, k)) break;
    Merge(&product->a, product->rank, k);
    Merge(&product->y, product->rank, k);
    RemoveAxis(&product->b, product->rank, k);
    --product->rank;
  }
  NormaliseStrides(product->rank, &product->a);
  NormaliseStrides(product->rank, &product->b);
  NormaliseStrides(product->rank, &product->y);
}

Status CheckStrides(const Product& product) {
  const int rank = product.rank;
  TENON_ENSURE(RowsWithoutGaps(rank, product.a) || ColumnsWithoutGaps(rank, product.a),
               kUnsupported, "oneDNN's product takes a first factor with dense rows or columns");
  TENON_ENSURE(RowsWithoutGaps(rank, product.b) || ColumnsWithoutGaps(rank, product.b),
               kUnsupported, "oneDNN's product takes a second factor with dense rows or columns");
  TENON_ENSURE(RowsWithoutGaps(rank, product.y), kUnsupported,
               "oneDNN's product writes dense rows");
  return OkStatus();
}

Status MakeProduct(const KernelSetup& setup, const Product& product, const Activation& activation,
                   void** shared) {
  dnnl_memory_desc_t a;
  dnnl_memory_desc_t b_in_plan;
  dnnl_memory_desc_t bias;
  dnnl_memory_desc_t y;
  TENON_RETURN_IF_ERROR(FactorDesc(product.rank, product.a, &a));
  TENON_RETURN_IF_ERROR(FactorDesc(product.rank, product.b, &b_in_plan));
  TENON_RETURN_IF_ERROR(BiasDesc(product, &bias));
  TENON_RETURN_IF_ERROR(FactorDesc(product.rank, product.y, &y));
  const bool pack = product.rank == 2 && setup.op.Input(In::kWeights).data != nullptr;
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
