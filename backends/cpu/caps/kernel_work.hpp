// How much kernels compute, where that is not what the op's row counts: for predictions of time.
#pragma once

#include <cstdint>

#include "runtime/ops/op_row.hpp"

namespace tenon::cpu {

/// Returns the multiply-accumulates of the kernel that plans call `name`, with what takes as long
/// beside them; -1: as the op's row counts. `wide_bytes`: on x86-64 with instructions for products
/// of bytes, whose registers have up to 64.
[[nodiscard]] int64_t OwnProducts(const char* name, const OpCall& call, bool wide_bytes);

/// Returns the elementary operations of vectors that a kernel on bytes takes beside its products,
/// as roundings of fixed point take several; -1: as the op's row counts.
[[nodiscard]] int64_t OwnElementaryOps(const char* name, const OpCall& call, bool wide_bytes);

/// Returns the bytes of weights that the kernel reads from beyond a core's own cache of so many
/// bytes, in addition to those of the op's row, each of which counts once.
[[nodiscard]] int64_t WeightBytesAgain(const char* name, const OpCall& call, int64_t cache_bytes);

/// Returns what starting the kernel takes, as a share of what starting an elementwise op takes: on
/// processors with an operating system, where the data is near.
[[nodiscard]] double StartShare(const char* name);

}  // namespace tenon::cpu
