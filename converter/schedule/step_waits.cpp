#include "converter/schedule/step_waits.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "converter/solve/sort_and_unique.hpp"

namespace tenon::converter {
namespace {

/// Tracks which use last had each byte of one arena.
class LastUsers {
 public:
  /// Returns the last users of [begin, end), which now belong to `user`.
  std::vector<int32_t> Replace(int64_t begin, int64_t end, int32_t user) {
    std::vector<int32_t> before;
    auto piece = pieces_.lower_bound(begin);
    if (piece != pieces_.begin() && std::prev(piece)->second.end > begin) --piece;
    while (piece != pieces_.end() && piece->first < end) {
      const int64_t piece_begin = piece->first;
      const Piece old = piece->second;
      before.push_back(old.user);
      piece = pieces_.erase(piece);
      if (piece_begin < begin) pieces_[piece_begin] = {begin, old.user};
      if (old.end > end) {
        pieces_[end] = {old.end, old.user};
        break;
      }
    }
    pieces_[begin] = {end, user};
    SortAndUnique(before);
    return before;
  }

 private:
  struct Piece {
    int64_t end = 0;
    int32_t user = 0;
  };
  std::map<int64_t, Piece> pieces_;  ///< by begin
};

}  // namespace

void AddReuseNeeds(const std::vector<UsedBytes>& uses, std::vector<OrderedStep>& steps) {
  std::vector<size_t> by_start(uses.size());
  std::iota(by_start.begin(), by_start.end(), size_t{0});
  std::stable_sort(by_start.begin(), by_start.end(), [&](size_t a, size_t b) {
    return uses[a].start != uses[b].start ? uses[a].start < uses[b].start
                                          : uses[a].end < uses[b].end;
  });
  std::map<int32_t, LastUsers> arenas;
  for (const size_t index : by_start) {
    const UsedBytes& use = uses[index];
    if (use.bytes == 0) continue;
    for (const int32_t before : arenas[use.arena].Replace(use.offset, use.offset + use.bytes,
                                                          static_cast<int32_t>(index))) {
      for (const int32_t writer : use.writers) {
        std::vector<int32_t>& needs = steps[static_cast<size_t>(writer)].needs;
        for (const int32_t user : uses[static_cast<size_t>(before)].users) {
          if (user < writer) needs.push_back(user);
        }
      }
    }
  }
}

std::vector<std::vector<int32_t>> ReducedWaits(const std::vector<OrderedStep>& steps,
                                               int32_t units) {
  const auto width = static_cast<size_t>(units);
  // clocks[s * width + u]: how many steps of unit u have certainly ended when step s has.
  std::vector<int32_t> clocks(steps.size() * width, 0);
  std::vector<int32_t> number_on_unit(steps.size());
  std::vector<int32_t> last_of_unit(width, -1);
  std::vector<int32_t> count_of_unit(width, 0);
  std::vector<std::vector<int32_t>> waits(steps.size());
  const auto include = [&](int32_t* clock, int32_t other) {
    const int32_t* known = clocks.data() + static_cast<size_t>(other) * width;
    for (size_t u = 0; u < width; ++u) clock[u] = std::max(clock[u], known[u]);
  };
  for (size_t s = 0; s < steps.size(); ++s) {
    const auto unit = static_cast<size_t>(steps[s].unit);
    int32_t* clock = clocks.data() + s * width;
    if (last_of_unit[unit] >= 0) include(clock, last_of_unit[unit]);
    const std::vector<int32_t> before(clock, clock + width);
    std::vector<int32_t> latest(width, -1);  // by unit: the last step needed
    for (const int32_t need : steps[s].needs) {
      int32_t& last = latest[static_cast<size_t>(steps[static_cast<size_t>(need)].unit)];
      last = std::max(last, need);
    }
    std::vector<int32_t> needed;
    for (const int32_t need : latest) {
      if (need < 0) continue;
      const auto other = static_cast<size_t>(steps[static_cast<size_t>(need)].unit);
      if (before[other] <= number_on_unit[static_cast<size_t>(need)]) needed.push_back(need);
    }
    for (const int32_t need : needed) {
      const auto other = static_cast<size_t>(steps[static_cast<size_t>(need)].unit);
      const bool follows = std::any_of(needed.begin(), needed.end(), [&](int32_t third) {
        return third != need && clocks[static_cast<size_t>(third) * width + other] >
                                    number_on_unit[static_cast<size_t>(need)];
      });
      if (!follows) waits[s].push_back(need);
      include(clock, need);
    }
    std::sort(waits[s].begin(), waits[s].end());
    number_on_unit[s] = count_of_unit[unit]++;
    clock[unit] = count_of_unit[unit];
    last_of_unit[unit] = static_cast<int32_t>(s);
  }
  return waits;
}

}  // namespace tenon::converter
