// Text form to locations and arena plan, on the portable kernels unless the text names others.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "converter/ir/text.hpp"
#include "converter/layout/arena_plan.hpp"
#include "converter/layout/assign_locations.hpp"
#include "converter/map/kernel_choice.hpp"

namespace tenon::converter {

struct Located {
  Graph graph;
  Locations locations;
  PassReport report;

  [[nodiscard]] TensorId Id(std::string_view name) const {
    const TensorId id = graph.FindTensor(name);
    REQUIRE_MESSAGE(id != kNone, std::string(name));
    return id;
  }
  [[nodiscard]] const Location& At(std::string_view name) const { return locations.at(Id(name)); }
  /// The name of the tensor that owns the bytes of this one.
  [[nodiscard]] std::string Root(std::string_view name) const {
    return graph.tensor(At(name).root).name;
  }
  [[nodiscard]] bool OwnsBytes(std::string_view name) const { return At(name).root == Id(name); }
  /// True if the op that makes the tensor need not be executed.
  [[nodiscard]] bool Elided(std::string_view name) const {
    return locations.elided[static_cast<size_t>(graph.tensor(Id(name)).producer)];
  }
  /// Names of the outputs of the ops that are executed, in order.
  [[nodiscard]] std::vector<std::string> Executed() const {
    std::vector<std::string> names;
    for (const OpId id : graph.OpOrder()) {
      if (locations.elided[static_cast<size_t>(id)]) continue;
      names.push_back(graph.tensor(graph.op(id).outputs[0]).name);
    }
    return names;
  }
};

inline Located Locate(std::string_view text) {
  auto graph = ParseGraph(text);
  if (!graph.ok()) FAIL(graph.error().message);
  Located result{std::move(*graph), {}, {}};
  for (const OpId id : result.graph.OpOrder()) {
    if (result.graph.op(id).kernel.empty()) UsePortableKernel(result.graph.MutableOp(id));
  }
  auto locations = AssignLocations(result.graph, result.report);
  if (!locations.ok()) FAIL(locations.error().message);
  result.locations = std::move(*locations);
  const Status status = Verify(result.graph);
  if (!status.ok()) FAIL(status.error().message);
  return result;
}

using Strings = std::vector<std::string>;
using Ints = std::vector<int32_t>;

}  // namespace tenon::converter
