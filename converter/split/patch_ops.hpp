// Adds the ops that patches consist of at the end of a graph's order.
#pragma once

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "converter/ir/graph.hpp"
#include "converter/split/patch_ranges.hpp"

namespace tenon::converter {

/// The axes of a tensor's rows and columns; -1: it has none that are cut.
struct RegionAxes {
  int32_t rows = -1;
  int32_t columns = -1;
};

class PatchOps {
 public:
  explicit PatchOps(Graph& graph) : graph_(graph) {}

  /// Adds an op with one output, both called `name`. Errors (kInternal): the op is refused.
  Result<TensorId> Add(OpKind kind, const std::string& name, const std::vector<TensorId>& inputs,
                       const Attributes& attributes, const std::string& source_ops = {});
  /// Adds the op that puts tensors side by side, if there are several.
  Result<TensorId> Join(const std::vector<TensorId>& parts, int32_t axis, const std::string& name);
  /// Adds the op that takes a region of a tensor. Of equal slices since ForgetSlices, the first is
  /// returned.
  Result<TensorId> Slice(TensorId source, const RegionAxes& axes, const Region& region,
                         const std::string& name);
  void ForgetSlices() { slices_.clear(); }

  /// Returns the ops that were added, in order.
  [[nodiscard]] std::vector<OpId> Take() { return std::move(ops_); }

 private:
  Graph& graph_;
  std::vector<OpId> ops_;
  /// By source, and by axis, begin and end of rows and columns.
  std::map<std::array<int32_t, 7>, TensorId> slices_;
};

}  // namespace tenon::converter
