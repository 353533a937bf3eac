#pragma once

#include <algorithm>
#include <vector>

namespace tenon::converter {

/// Sorts the values in ascending order and removes duplicates.
template <typename Value>
void SortAndUnique(std::vector<Value>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace tenon::converter
