// A batched, strided matrix product as oneDNN descriptors: what matmul and the 1x1 convolution
// share.
#pragma once

#include "backends/cpu/kernels/onednn/primitive.hpp"
#include "runtime/base/shape.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::onednn {

/// Dims and strides of one operand, the last two being the matrix.
struct Factor {
  dnnl_dim_t dims[kMaxRank] = {};
  dnnl_dim_t strides[kMaxRank] = {};
};

/// y [..., M, N] = a [..., M, K] b [..., K, N], all of one rank; batch dimensions of a and b may be
/// 1 where y's is not.
struct Gemm {
  int rank = 2;
  Factor a;
  Factor b;
  Factor y;
};

/// Makes fewer and larger matrices where b has no batch and the rows of a and y follow each other,
/// and gives dimensions of size 1 the strides that oneDNN recognises as dense.
void Simplify(Gemm* gemm);

/// Refuses operands (of a simplified product) that oneDNN's fast kernels do not take: each matrix
/// needs one of its dimensions without gaps, y's the last one.
Status CheckStrides(const Gemm& gemm);

/// Makes the primitive for op inputs 0 (a), 1 (b) and 2 (bias along N, optional). Constant b
/// without batch is packed.
Status MakeGemm(const KernelSetup& setup, const Gemm& gemm, const Activation& activation,
                void** shared);

}  // namespace tenon::cpu::onednn
