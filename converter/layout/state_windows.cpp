#include "converter/layout/state_windows.hpp"

#include <algorithm>

#include "converter/layout/layouts.hpp"

namespace tenon::converter {
namespace {

bool IsRowMajor(const Graph& graph, TensorId id, const Location& location) {
  const Shape& shape = graph.tensor(id).shape;
  const std::vector<int32_t> dense = DenseStrides(shape, Layout::kRowMajor);
  for (int32_t i = 0; i < shape.rank; ++i) {
    const auto k = static_cast<size_t>(i);
    if (shape[i] != 1 && location.strides[k] != dense[k]) return false;
  }
  return true;
}

bool IsAtEnd(const Graph& graph, TensorId id, const Location& location) {
  const int64_t begin = graph.tensor(location.root).ByteSize() - graph.tensor(id).ByteSize();
  return begin > 0 && location.offset == begin && IsRowMajor(graph, id, location);
}

/// True if `root` holds no input and no output but these two.
bool IsOnlyTheirs(const Graph& graph, const Locations& locations, TensorId root, TensorId read,
                  TensorId write) {
  int writes = 0;
  for (const auto* ports : {&graph.inputs(), &graph.outputs()}) {
    for (const Graph::Port& port : *ports) {
      if (locations.at(port.tensor).root != root) continue;
      if (port.tensor != read && port.tensor != write) return false;
      writes += port.tensor == write ? 1 : 0;
    }
  }
  return writes == 1;
}

}  // namespace

StateWindows::StateWindows(const Graph& graph) {
  for (const Graph::State& state : graph.states) {
    const Graph::Port* input = graph.FindPort(/*output=*/false, state.input);
    const Graph::Port* output = graph.FindPort(/*output=*/true, state.output);
    if (input != nullptr && output != nullptr && input->tensor != output->tensor) {
      windows_.push_back({input->tensor, output->tensor});
    }
  }
}

bool StateWindows::MayReadAt(const Graph& graph, TensorId id, const Location& location) const {
  const bool is_read = std::any_of(windows_.begin(), windows_.end(),
                                   [&](const Window& window) { return window.read == id; });
  return is_read && location.offset == 0 && graph.tensor(location.root).producer != kNone &&
         !graph.IsOutput(location.root) && IsRowMajor(graph, id, location);
}

bool StateWindows::MayWriteAt(const Graph& graph, const Locations& locations, TensorId id,
                              const Location& location) const {
  const bool is_write = std::any_of(windows_.begin(), windows_.end(), [&](const Window& window) {
    return window.write == id && locations.at(window.read).root == location.root &&
           location.root != window.read;
  });
  return is_write && IsAtEnd(graph, id, location);
}

bool StateWindows::KeepSound(const Graph& graph, const Locations& locations) {
  const auto is_unsound = [&](const Window& window) {
    const TensorId root = locations.at(window.read).root;
    if (root == window.read) return false;
    const Location& write = locations.at(window.write);
    return write.root != root || !IsAtEnd(graph, window.write, write) ||
           !IsOnlyTheirs(graph, locations, root, window.read, window.write);
  };
  const auto kept = std::remove_if(windows_.begin(), windows_.end(), is_unsound);
  const bool found = kept != windows_.end();
  windows_.erase(kept, windows_.end());
  return found;
}

}  // namespace tenon::converter
