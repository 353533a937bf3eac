// The known name that a mistyped one was meant to be.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

/// Insertions, deletions, replacements and swaps of neighbours between the two, upper case as lower
/// (optimal string alignment distance).
[[nodiscard]] inline size_t EditDistance(std::string_view a, std::string_view b) {
  const auto same = [&](size_t i, size_t j) {
    return std::tolower(static_cast<unsigned char>(a[i])) ==
           std::tolower(static_cast<unsigned char>(b[j]));
  };
  std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1,
                             cost[i - 1][j - 1] + (same(i - 1, j - 1) ? 0U : 1U)});
      if (i > 1 && j > 1 && same(i - 1, j - 2) && same(i - 2, j - 1)) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

/// "did you mean 'x'? " of the nearest name, or nothing if none is near: a third of its letters may
/// differ. The first of several that are as near.
[[nodiscard]] inline std::string DidYouMean(std::string_view given,
                                            const std::vector<std::string>& known) {
  constexpr size_t kLongest = 64;
  if (given.size() > kLongest) return "";
  const std::string* nearest = nullptr;
  size_t least = 0;
  for (const std::string& name : known) {
    if (name.size() > kLongest) continue;
    const size_t distance = EditDistance(given, name);
    if (3 * distance > std::max(given.size(), name.size()) + 1 ||
        (nearest != nullptr && distance >= least)) {
      continue;
    }
    nearest = &name;
    least = distance;
  }
  return nearest == nullptr ? "" : "did you mean '" + *nearest + "'? ";
}

}  // namespace tenon
