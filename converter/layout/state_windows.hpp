// States that are windows over a stream: what a run finds, with the new behind it, of which the end
// is what the next run finds. All of it lies in one storage then. The new is written behind the
// old, and after the run the engine moves the end to the beginning: nothing else is copied.
#pragma once

#include <vector>

#include "converter/ir/locations.hpp"

namespace tenon::converter {

/// The states of a graph that may be windows; none by default.
class StateWindows {
 public:
  StateWindows() = default;
  /// All states. `graph` is borrowed.
  explicit StateWindows(const Graph& graph);

  /// True if `id` is what such a state reads and `location` is the beginning of what somebody makes
  /// whole, row by row without gaps.
  [[nodiscard]] bool MayReadAt(const Graph& graph, TensorId id, const Location& location) const;
  /// True if `id` is what such a state writes and `location` is the end of the storage at whose
  /// beginning it reads.
  [[nodiscard]] bool MayWriteAt(const Graph& graph, const Locations& locations, TensorId id,
                                const Location& location) const;
  /// Takes out the states whose reading was placed so and whose writing was not, or that share the
  /// storage with another port. True if there were any.
  bool KeepSound(const Graph& graph, const Locations& locations);
  [[nodiscard]] bool empty() const { return windows_.empty(); }

 private:
  struct Window {
    TensorId read;
    TensorId write;
  };
  std::vector<Window> windows_;
};

}  // namespace tenon::converter
