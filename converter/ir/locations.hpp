// Records where the tensors of a graph lie on the storages of others, once that has been decided
// (layout/assign_locations.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "converter/ir/graph.hpp"

namespace tenon::converter {

struct Location {
  TensorId root = kNone;  ///< itself for a tensor that owns its bytes
  int64_t offset = 0;     ///< bytes from the start of the root
  std::vector<int32_t> strides;
};

struct Locations {
  std::vector<Location> tensors;  ///< by TensorId
  std::vector<bool> elided;       ///< by OpId: nothing to execute

  [[nodiscard]] const Location& at(TensorId id) const { return tensors[static_cast<size_t>(id)]; }
};

}  // namespace tenon::converter
