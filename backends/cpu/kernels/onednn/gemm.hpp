// Expresses a batched, strided matrix product as oneDNN descriptors, for matmul and the 1x1
// convolution.
#pragma once

#include "backends/cpu/kernels/onednn/primitive.hpp"
#include "runtime/base/shape.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::onednn {

/// Contains the dims and strides of one operand; the last two dims are the matrix.
struct Factor {
  dnnl_dim_t dims[kMaxRank] = {};
  dnnl_dim_t strides[kMaxRank] = {};
};

/// Describes y [..., M, N] = a [..., M, K] b [..., K, N], where all have the same rank; a batch
/// dimension of a or b may be 1 where y's is not.
struct Gemm {
  int rank = 2;
  Factor a;
  Factor b;
  Factor y;
};

/// Makes fewer and larger matrices where b has no batch and the rows of a and y are evenly spaced
/// across the batch, and gives dimensions of size 1 the strides that oneDNN recognises as dense.
void Simplify(Gemm* gemm);

/// Refuses operands (of a simplified GEMM) that oneDNN's fast kernels do not take: each matrix
/// needs one dimension without gaps, which must be the last one of y.
Status CheckStrides(const Gemm& gemm);

/// Makes the primitive for op inputs 0 (a), 1 (b) and 2 (bias along N, optional). A constant b
/// without a batch is packed.
Status MakeGemm(const KernelSetup& setup, const Gemm& gemm, const Activation& activation,
                void** shared);

}  // namespace tenon::cpu::onednn
