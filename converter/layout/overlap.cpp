#include <algorithm>
#include <numeric>

#include "converter/layout/assign_locations.hpp"

namespace tenon::converter {

int64_t EndInRoot(const Graph& graph, const Locations& locations, TensorId id) {
  const Tensor& tensor = graph.tensor(id);
  const Location& location = locations.at(id);
  int64_t last = 0;
  for (int32_t axis = 0; axis < tensor.shape.rank; ++axis) {
    last += int64_t{tensor.shape[axis] - 1} * location.strides[static_cast<size_t>(axis)];
  }
  return location.offset + (last + 1) * DTypeBytes(tensor.dtype);
}

bool MayOverlap(const Graph& graph, const Locations& locations, TensorId a, TensorId b) {
  const Location& at_a = locations.at(a);
  const Location& at_b = locations.at(b);
  if (at_a.root != at_b.root) return false;
  const Shape& shape_a = graph.tensor(a).shape;
  const Shape& shape_b = graph.tensor(b).shape;
  if (shape_a.Elements() == 0 || shape_b.Elements() == 0) return false;
  if (EndInRoot(graph, locations, a) <= at_b.offset ||
      EndInRoot(graph, locations, b) <= at_a.offset) {
    return false;
  }
  if (at_a.strides != at_b.strides || graph.tensor(a).dtype != graph.tensor(b).dtype) return true;
  std::vector<size_t> axes(at_a.strides.size());
  std::iota(axes.begin(), axes.end(), size_t{0});
  std::sort(axes.begin(), axes.end(),
            [&](size_t i, size_t k) { return at_a.strides[i] > at_a.strides[k]; });
  const int64_t element = DTypeBytes(graph.tensor(a).dtype);
  int64_t left_a = at_a.offset / element;
  int64_t left_b = at_b.offset / element;
  // Takes the corners of both windows as indices of the root: equal strides are one axis (one of
  // them has extent 1, or the other's stride would be larger).
  for (size_t i = 0; i < axes.size();) {
    const int32_t stride = at_a.strides[axes[i]];
    if (stride <= 0) return true;
    int64_t extent_a = 1;
    int64_t extent_b = 1;
    for (; i < axes.size() && at_a.strides[axes[i]] == stride; ++i) {
      extent_a = std::max<int64_t>(extent_a, shape_a[static_cast<int32_t>(axes[i])]);
      extent_b = std::max<int64_t>(extent_b, shape_b[static_cast<int32_t>(axes[i])]);
    }
    const int64_t begin_a = left_a / stride;
    const int64_t begin_b = left_b / stride;
    if (begin_a + extent_a <= begin_b || begin_b + extent_b <= begin_a) return false;
    left_a %= stride;
    left_b %= stride;
  }
  return true;
}

}  // namespace tenon::converter
