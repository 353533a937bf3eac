#include "runtime/format/rank_set.hpp"

namespace tenon {

size_t RankSet::Words(size_t capacity) {
  size_t total = 0;
  do {
    capacity = (capacity + 31) / 32;
    total += capacity;
  } while (capacity > 1);
  return total;
}

RankSet::RankSet(uint32_t* words, size_t capacity) {
  const size_t total = Words(capacity);
  for (size_t i = 0; i < total; ++i) words[i] = 0;
  do {
    level_[levels_++] = words;
    capacity = (capacity + 31) / 32;
    words += capacity;
  } while (capacity > 1);
}

void RankSet::Insert(size_t value) {
  for (int i = 0; i < levels_; ++i, value /= 32) level_[i][value / 32] |= 1U << (value % 32);
}

void RankSet::Remove(size_t value) {
  for (int i = 0; i < levels_; ++i, value /= 32) {
    uint32_t& word = level_[i][value / 32];
    word &= ~(1U << (value % 32));
    if (word != 0) return;
  }
}

size_t RankSet::Previous(size_t value) const {
  int i = 0;
  uint32_t word = level_[0][value / 32] & ((1U << (value % 32)) - 1);
  while (word == 0) {
    value /= 32;
    ++i;
    word = level_[i][value / 32] & ((1U << (value % 32)) - 1);
  }
  size_t found = value / 32 * 32 + 31 - static_cast<size_t>(__builtin_clz(word));
  while (i > 0) {
    --i;
    found = found * 32 + 31 - static_cast<size_t>(__builtin_clz(level_[i][found]));
  }
  return found;
}

namespace {

void SiftDown(uint64_t* keys, size_t root, size_t count,
              bool (*less)(const void*, uint64_t, uint64_t), const void* context) {
  for (;;) {
    size_t child = 2 * root + 1;
    if (child >= count) return;
    if (child + 1 < count && less(context, keys[child], keys[child + 1])) ++child;
    if (!less(context, keys[root], keys[child])) return;
    const uint64_t key = keys[root];
    keys[root] = keys[child];
    keys[child] = key;
    root = child;
  }
}

}  // namespace

void SortKeys(uint64_t* keys, size_t count, bool (*less)(const void*, uint64_t, uint64_t),
              const void* context) {
  for (size_t root = count / 2; root > 0; --root) SiftDown(keys, root - 1, count, less, context);
  for (size_t end = count; end > 1; --end) {
    const uint64_t key = keys[0];
    keys[0] = keys[end - 1];
    keys[end - 1] = key;
    SiftDown(keys, 0, end - 1, less, context);
  }
}

}  // namespace tenon
