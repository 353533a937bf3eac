// Asks backends for the kernels that run a group of ops by one start (docs/methods.md, F6).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converter/ir/graph.hpp"
#include "converter/ir/locations.hpp"
#include "converter/schedule/program_to_emit.hpp"

namespace tenon::converter {

/// Presents an op as its kernel sees it: constants have data, and dims and strides are the plan's.
/// Owns what the call points to, except constants' bytes and the op's attributes.
class LocatedCall {
 public:
  LocatedCall(const Graph& graph, const Locations& locations, const Op& op);
  LocatedCall(const LocatedCall&) = delete;
  LocatedCall& operator=(const LocatedCall&) = delete;
  [[nodiscard]] const OpCall& call() const { return call_; }

 private:
  std::vector<TensorView> views_;
  std::vector<int32_t> inputs_;
  std::vector<int32_t> outputs_;
  OpCall call_;
};

/// What an op needs of the kernel of a group.
struct GroupNeed {
  std::string why_not;  ///< it cannot be part of one; empty: it can
  int32_t parameter_bytes = 0;
};

/// Returns what the op, whose kernel is chosen, needs on its backend. The CPU needs nothing.
[[nodiscard]] GroupNeed GroupNeedOf(const Graph& graph, const Locations& locations, const Op& op);

/// Returns the most bytes of parameters that the ops of a group may need together on a backend.
[[nodiscard]] int32_t MostParameterBytes(const std::string& backend);

/// Returns the sources of the groups whose backend runs them by one kernel.
[[nodiscard]] std::vector<GroupSource> MakeGroupSources(
    const Graph& graph, const Locations& locations, const std::vector<std::vector<OpId>>& groups);

}  // namespace tenon::converter
