#include <algorithm>
#include <limits>

#include "converter/solve/order/downset_table.hpp"
#include "converter/solve/order/memory_order.hpp"
#include "converter/solve/order/memory_state.hpp"

namespace tenon::converter {
namespace {

uint64_t SaturatingSum(uint64_t a, uint64_t b) {
  return a > std::numeric_limits<uint64_t>::max() - b ? std::numeric_limits<uint64_t>::max()
                                                      : a + b;
}

}  // namespace

std::optional<uint64_t> CountOrders(const MemoryProblem& problem, int64_t most_downsets,
                                    int64_t* downsets) {
  if (problem.nodes.empty()) return 1;
  MemoryState state(problem);
  DownsetTable table(state.words());
  table.Insert(state.done().data());
  std::vector<uint64_t> paths = {1};  // by number in the table: ways to get there
  std::vector<Index> ready;
  // Downsets are numbered breadth first, so all paths to one are counted before it is expanded.
  for (uint32_t number = 0; number < table.size(); ++number) {
    state.Load(table[number]);
    state.GetReady(ready);
    for (const Index v : ready) {
      if (downsets != nullptr) *downsets = static_cast<int64_t>(table.size());
      if (static_cast<int64_t>(table.size()) > most_downsets) return std::nullopt;
      state.Apply(v);
      const auto [next, is_new] = table.Insert(state.done().data());
      state.Undo(v);
      if (is_new) paths.push_back(0);
      paths[next] = SaturatingSum(paths[next], paths[number]);
    }
  }
  return paths.back();
}

}  // namespace tenon::converter
