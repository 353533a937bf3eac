// Places an arena again, so that workspaces are larger whose kernels then take less time.
#pragma once

#include <cstdint>

#include "converter/driver/compile.hpp"

namespace tenon::converter {

/// A program on one CPU whose times are those of instructions, and what it may need.
struct ArenaToFill {
  const CompileOptions& options;
  const Unit& unit;
  const Locations& locations;
  int64_t most_bytes = 0;
  /// Bounds the placements: their number times the ops of the program.
  int64_t most_placed_ops = 0;
};

/// Grows workspaces as GrowWorkspaces does, into `most_bytes` of arena. Also places all storages
/// again with those workspaces larger that gain most time by it, one by one, and keeps each
/// placement that is predicted to be faster. `graph` has the workspaces that `arena` was placed
/// with. Returns the bytes of the arena that is kept before workspaces have grown.
int64_t WidenWorkspaces(const ArenaToFill& fill, Graph& graph, ArenaPlan& arena);

}  // namespace tenon::converter
