// Branches that are computed whether they are taken or not must not fail where they are not.
#pragma once

#include "converter/ir/graph.hpp"
#include "converter/status.hpp"

namespace tenon::converter {

/// Which ops a branch is made of: those that the graph got after Begin.
class BranchOps {
 public:
  /// Marks where the branch begins by an op that copies `condition`.
  [[nodiscard]] static Result<BranchOps> Begin(Graph& graph, TensorId condition);

  /// Lets the ops that came since read and write at index 0 where the branch is not taken: that is
  /// where `condition`, a bool without dimensions, is not `taken`. Models guard indices that way.
  /// Errors: none but those of graphs that take no more ops.
  [[nodiscard]] Status Guard(Graph& graph, TensorId condition, bool taken) const;

 private:
  OpId mark_ = kNone;
};

}  // namespace tenon::converter
