#pragma once

#include <algorithm>
#include <vector>

namespace tenon::converter {

/// The values in ascending order, each once.
template <typename Value>
void SortAndUnique(std::vector<Value>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace tenon::converter
