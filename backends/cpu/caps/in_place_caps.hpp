// Convolutions that write their output over their input: both have the same size, and the steps are
// 1.
//
// A row of the output may overwrite the input's row r once every row of the output that reads row r
// has been computed: those up to r + pads[0]. So pads[0] rows of the output are kept back in the
// workspace, followed by the rows being computed:
//   [kept back: pads[0]] [new: 1 or more], each row channels-last without gaps.
// Any kernel that computes rows of a convolution can run this way; the more new rows fit into the
// workspace, the fewer times it starts.
//
// Kernels of this kind have an id of their own, `<kernel>_in_place`, and their rows are
// OnlyOverInput0: they are chosen only where their output does overwrite their input.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::cpu {

/// Returns null if a convolution, float or quantized, can be computed over input 0 row by row; else
/// why not. It reads dims, dtypes and attributes of operands that passed CheckOpCall.
[[nodiscard]] Reason InPlaceConvSupports(const OpCall& call);
/// Returns the same for a kernel that runs what `supports` accepts.
template <Reason (*supports)(const OpCall& call)>
[[nodiscard]] Reason SupportsInPlace(const OpCall& call) {
  const Reason reason = supports(call);
  return reason ? reason : InPlaceConvSupports(call);
}

/// Returns how many rows of one image's output are kept back: never more than it has.
[[nodiscard]] int32_t InPlaceHeldRows(const OpCall& call);
/// Returns the bytes of one row of one image's output, without gaps.
[[nodiscard]] size_t InPlaceRowBytes(const OpCall& call);

/// Returns the rows to compute at once: enough pixels to be worth a start, but no more than an
/// eighth of all.
[[nodiscard]] int32_t InPlaceNewRows(const OpCall& call);
/// Returns the bytes of the rows kept back and of `new_rows` new ones.
[[nodiscard]] size_t InPlaceRowsBytes(const OpCall& call, int32_t new_rows);

/// Returns the workspace, with InPlaceNewRows, of a kernel that needs no other. (Threads share it.)
[[nodiscard]] size_t InPlaceConvWorkspace(const OpCall& call, int threads);

/// Makes rows [first, first + count) of one image of a quantized convolution that works in place a
/// convolution of its own: it reads the rows of x that they need and writes dense channels-last
/// rows. What `call` points to must outlive it.
class InPlacePart {
 public:
  InPlacePart(const OpCall& call, int32_t image, int32_t first, int32_t count, void* rows);
  InPlacePart(const InPlacePart&) = delete;
  InPlacePart& operator=(const InPlacePart&) = delete;

  [[nodiscard]] const OpCall& call() const { return call_; }

 private:
  static constexpr int kMostInputs = 8;
  TensorView tensors_[kMostInputs + 1];
  int32_t ids_[kMostInputs + 1];
  int32_t x_dims_[4];
  int32_t y_dims_[4];
  int32_t y_strides_[4];
  QuantizedConvAttributes attributes_;
  OpCall call_;
};

/// Returns the bytes, a multiple of 16, that parts of `new_rows` rows take before their own.
[[nodiscard]] size_t InPlacePartsRows(const OpCall& call, int32_t new_rows);
/// Returns the workspace of a kernel that runs such parts one by one, where `workspace` gives the
/// need of the kernel of a part: [rows, to a multiple of 16] [workspace of a part].
[[nodiscard]] size_t InPlacePartsWorkspace(const OpCall& call,
                                           size_t (*workspace)(const OpCall& call, int threads));

}  // namespace tenon::cpu
