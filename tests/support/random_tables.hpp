// Priority tables by chance.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "converter/board/board.hpp"
#include "runtime/ops/host/op_table.hpp"

namespace tenon::test {

/// A table for the backends "opencl" and "cpu" in which every kind of op is better on one backend
/// or the other, by chance, for some kinds only beyond a number of elements.
inline std::vector<converter::Priority> RandomTable(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<converter::Priority> rows;
  for (int kind = 0; kind < kOpKindCount; ++kind) {
    const std::string op = GetOpRow(static_cast<OpKind>(kind)).name;
    const bool opencl_first = random() % 2 == 0;
    converter::Priority opencl{"opencl", op, opencl_first ? 1 : 3, {}};
    if (random() % 3 == 0) opencl.when.min_elements = static_cast<int64_t>(random() % 20000);
    rows.push_back(opencl);
    rows.push_back({"cpu", op, 2, {}});
  }
  return rows;
}

}  // namespace tenon::test
