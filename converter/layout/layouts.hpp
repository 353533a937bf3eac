// Decides the order in which elements of tensors lie in memory: of activations, of constant
// weights, and for CPU kernels that replace those of a device.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "converter/ir/locations.hpp"
#include "converter/ir/pass.hpp"

namespace tenon::converter {

/// Returns true where they are equal; those of dimensions of 1 have no effect.
[[nodiscard]] inline bool SameStrides(const Shape& shape, const std::vector<int32_t>& a,
                                      const std::vector<int32_t>& b) {
  for (int32_t i = 0; i < shape.rank; ++i) {
    const auto k = static_cast<size_t>(i);
    if (shape[i] != 1 && a[k] != b[k]) return false;
  }
  return true;
}

/// Keeps constants that were laid out, so that the programs that are compiled from one graph, of
/// which a search compiles many, share them. Not thread-safe.
class LaidOutWeights {
 public:
  /// Returns the tensor's bytes in another layout.
  Bytes Get(const Tensor& tensor, Layout layout);

 private:
  std::map<std::tuple<Bytes, Layout, std::vector<int32_t>>, Bytes> known_;
};

// Decides every tensor's physical layout and inserts the conversions that this takes.
//
// Requires:   kernels are chosen (their caps say which layouts they take).
// Guarantees: each operand has a layout that its op's kernel takes; graph inputs and outputs are
//             row-major; one conversion at most per tensor and layout, and none of a constant,
//             which is stored as it is wanted.
// Channels-last is the default for images (rank 4): convolutions and pooling ask for it, and the
// ops that follow keep the layout of their input.
[[nodiscard]] Status AssignLayouts(Graph& graph, LaidOutWeights& weights, PassContext& context);

/// Returns true if both layouts put every element of this shape at the same place.
[[nodiscard]] bool LayoutsCoincide(const Shape& shape);

// Puts constant weights into the order in which their kernels read them, so that nothing is packed
// when the plan is loaded: they are used in place from the plan file.
//
// Requires:   kernels are chosen.
// Guarantees: the values of no tensor change; a constant that kernels want in two orders is stored
//             twice.
[[nodiscard]] Status LayOutWeights(Graph& graph, LaidOutWeights& weights, PassContext& context);

// Chooses CPU kernels for ops on devices, for plans that continue without the device (--fallback).
//
// Requires:   kernels are chosen, layouts assigned, locations known.
// Guarantees: every op that executes on a device has a CPU kernel that takes its operands in
//             their layout there, so that a segment can be run again in place; nothing else
//             changes.

/// Sets `fallback_kernel` and `fallback_workspace_bytes` of ops on other backends than "cpu".
/// `threads` is the most that a run will use; for `portable_only` see MarkOptions. Errors (kInput):
/// ops that no kernel of the CPU runs, all of them at once with the kernels' reasons.
[[nodiscard]] Status ChooseFallbackKernels(Graph& graph, const Locations& locations, int threads,
                                           bool portable_only);

/// Returns true if a kernel with this need takes a tensor of these strides, whatever its layout.
[[nodiscard]] bool TakesAsItLies(LayoutNeed need, const Shape& shape,
                                 const std::vector<int32_t>& strides);

}  // namespace tenon::converter
