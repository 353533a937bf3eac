#include "runtime/format/rank_set.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

using tenon::RankSet;

TEST_CASE("RankSet: finds the neighbour below like an ordered set") {
  std::mt19937 random(1);
  for (const size_t capacity : {1U, 2U, 31U, 32U, 33U, 1024U, 1025U, 40000U}) {
    std::vector<uint32_t> words(RankSet::Words(capacity));
    RankSet set(words.data(), capacity);
    std::set<size_t> expected = {0};
    set.Insert(0);
    for (int i = 0; i < 2000; ++i) {
      const size_t value = random() % capacity;
      if (value != 0 && random() % 2 == 0) {
        set.Insert(value);
        expected.insert(value);
      } else if (value != 0) {
        set.Remove(value);
        expected.erase(value);
      }
      const size_t query = random() % capacity;
      if (query == 0) continue;
      CHECK(set.Previous(query) == *std::prev(expected.lower_bound(query)));
    }
  }
}

TEST_CASE("SortKeys: sorts by the given order") {
  std::mt19937 random(2);
  for (size_t count = 0; count < 70; ++count) {
    std::vector<uint64_t> keys(count);
    for (auto& key : keys) key = random() % 50;
    auto expected = keys;
    std::sort(expected.begin(), expected.end(), std::greater<>());
    tenon::SortKeys(
        keys.data(), count, [](const void*, uint64_t a, uint64_t b) { return a > b; }, nullptr);
    CHECK(keys == expected);
  }
}
