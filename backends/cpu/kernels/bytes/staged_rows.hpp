// How strided rows of bytes reach routines that take neighbours: through small buffers.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/portable/stage.hpp"

namespace tenon::cpu::bytes {

/// Calls `run(z, x, count)` with neighbours for a row of `count` elements, in pieces where one of
/// the operands has gaps. Strides in bytes; `z` of Z and `x` of X.
template <typename Z, typename X, typename Run>
void ForEachPiece(char* z, ptrdiff_t z_stride, const char* x, ptrdiff_t x_stride, int count,
                  const Run& run) {
  const portable::Stager z_stager = {z_stride, sizeof(Z)};
  const portable::Stager x_stager = {x_stride, sizeof(X)};
  const bool is_contiguous = z_stager.IsContiguous() && x_stager.IsContiguous();
  const int most = is_contiguous ? count : portable::kStageElements;
  for (int done = 0; done < count; done += most) {
    const int piece = count - done < most ? count - done : most;
    portable::Stage x_stage;
    portable::Stage z_stage;
    const char* from = x_stager.Read(x, done, piece, x_stage);
    char* to = z_stager.Target(z, done, z_stage);
    run(reinterpret_cast<Z*>(to), reinterpret_cast<const X*>(from), piece);
    z_stager.Write(z, done, piece, z_stage);
  }
}

}  // namespace tenon::cpu::bytes
