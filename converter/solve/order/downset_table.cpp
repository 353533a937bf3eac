#include "converter/solve/order/downset_table.hpp"

#include <algorithm>

namespace tenon::converter {

uint64_t DownsetTable::HashOf(const uint64_t* set) const {
  uint64_t hash = 0x9E3779B97F4A7C15U;
  for (size_t i = 0; i < words_; ++i) {
    hash = (hash ^ set[i]) * 0xBF58476D1CE4E5B9U;
    hash ^= hash >> 31;
  }
  return hash;
}

size_t DownsetTable::FindSlot(const uint64_t* set) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = HashOf(set) & mask;
  while (slots_[slot] != kEmpty && !std::equal(set, set + words_, (*this)[slots_[slot]])) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

void DownsetTable::Grow() {
  slots_.assign(slots_.size() * 2, kEmpty);
  for (uint32_t number = 0; number < size_; ++number) slots_[FindSlot((*this)[number])] = number;
}

std::pair<uint32_t, bool> DownsetTable::Insert(const uint64_t* set) {
  size_t slot = FindSlot(set);
  if (slots_[slot] != kEmpty) return {slots_[slot], false};
  if (size_ * 2 >= slots_.size()) {
    Grow();
    slot = FindSlot(set);
  }
  const auto number = static_cast<uint32_t>(size_++);
  slots_[slot] = number;
  sets_.insert(sets_.end(), set, set + words_);
  return {number, true};
}

}  // namespace tenon::converter
