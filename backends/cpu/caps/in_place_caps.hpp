// Convolutions that write their output over their input: of equal size, with steps of 1.
//
// A row of the output may take the place of the input's row r once every row of the output that
// reads row r has been computed: those up to r + pads[0]. So pads[0] rows of the output are held
// back in the workspace, behind which lie the rows being computed:
//   [held back: pads[0]] [new: 1 or more], each row channels-last without gaps.
// Any kernel that computes rows of a convolution can be run so; the more new rows the workspace has
// room for, the fewer times it starts.
//
// Kernels of this kind have an id of their own, `<kernel>_in_place`, and their rows are
// OnlyOverInput0: they are chosen only where their output does take over their input.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::cpu {

/// Null if a convolution, float or quantized, can be computed over input 0 row by row; else why
/// not. Reads dims, dtypes and attributes of operands that passed CheckOpCall.
[[nodiscard]] Reason InPlaceConvSupports(const OpCall& call);
/// The same for a kernel that runs what `supports` says.
template <Reason (*supports)(const OpCall& call)>
[[nodiscard]] Reason SupportsInPlace(const OpCall& call) {
  const Reason reason = supports(call);
  return reason ? reason : InPlaceConvSupports(call);
}

/// Rows of one image's output that are held back: never more than it has.
[[nodiscard]] int32_t InPlaceHeldRows(const OpCall& call);
/// Bytes of one row of one image's output, without gaps.
[[nodiscard]] size_t InPlaceRowBytes(const OpCall& call);

/// Rows to compute at once: enough pixels to be worth a start, but no more than an eighth of all.
[[nodiscard]] int32_t InPlaceNewRows(const OpCall& call);
/// Bytes of the rows held back and `new_rows` of new ones.
[[nodiscard]] size_t InPlaceRowsBytes(const OpCall& call, int32_t new_rows);

/// The workspace of a kernel that needs none besides: with InPlaceNewRows. (Threads share it.)
[[nodiscard]] size_t InPlaceConvWorkspace(const OpCall& call, int threads);

/// Rows [first, first + count) of one image of a quantized convolution that works in place, as a
/// convolution of its own: on the rows of x that they read, into dense channels-last rows. What
/// `call` points to must outlive it.
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

/// The workspace of a kernel that runs such parts one by one, `workspace` being what the kernel of
/// a part needs: [rows, to a multiple of 16] [workspace of a part].
[[nodiscard]] size_t InPlacePartsWorkspace(const OpCall& call,
                                           size_t (*workspace)(const OpCall& call, int threads));

}  // namespace tenon::cpu
