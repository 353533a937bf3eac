// Numbers that tests of several operators have.
#pragma once

#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace tenon::converter::test {

/// 1, 2, 3 and so on.
inline std::vector<float> Counted(size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}

inline double Sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

}  // namespace tenon::converter::test
