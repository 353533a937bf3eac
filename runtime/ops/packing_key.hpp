// What the form that a kernel packs an op's constants into depends on, in a few words that are
// compared exactly: ops with equal keys can share what was packed for one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "runtime/base/tensor_view.hpp"

namespace tenon {

class PackingKey {
 public:
  void Add(int32_t word) {
    if (count_ < kMostWords) words_[count_] = word;
    ++count_;
  }
  void AddAddress(const void* address) {
    const auto bits = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(address));
    Add(static_cast<int32_t>(static_cast<uint32_t>(bits)));
    Add(static_cast<int32_t>(static_cast<uint32_t>(bits >> 32)));
  }
  void AddWords(const void* words, size_t count) {
    const auto* from = static_cast<const int32_t*>(words);
    for (size_t i = 0; i < count; ++i) Add(from[i]);
  }
  /// Characters, four to a word, with what tells how many there are. Null adds nothing.
  void AddText(const char* text) {
    if (text == nullptr) return;
    const size_t length = std::strlen(text);
    for (size_t i = 0; i <= length; i += 4) {
      int32_t word = 0;
      std::memcpy(&word, text + i, length - i < 4 ? length - i : 4);
      Add(word);
    }
  }
  /// A constant's place; of any other tensor, that it is none. Its dtype, dims and strides too.
  void AddTensor(const TensorView& view) {
    AddAddress(view.data);
    Add(static_cast<int32_t>(view.dtype));
    Add(view.rank);
    AddWords(view.dims, view.rank);
    AddWords(view.strides, view.rank);
  }

  [[nodiscard]] uint32_t Hash() const {
    uint32_t hash = 2166136261U;  // FNV-1a over words, mixed: low bits of addresses are all alike
    for (int i = 0; i < Count(); ++i) {
      hash = (hash ^ static_cast<uint32_t>(words_[i])) * 16777619U;
      hash ^= hash >> 15;
    }
    return hash;
  }

  /// A key of more words than there is room for equals none, not even itself.
  [[nodiscard]] bool Equals(const PackingKey& other) const {
    if (count_ != other.count_ || count_ > kMostWords) return false;
    for (int i = 0; i < count_; ++i) {
      if (words_[i] != other.words_[i]) return false;
    }
    return true;
  }

  /// For containers on the host.
  friend bool operator<(const PackingKey& a, const PackingKey& b) {
    if (a.count_ != b.count_) return a.count_ < b.count_;
    for (int i = 0; i < a.Count(); ++i) {
      if (a.words_[i] != b.words_[i]) return a.words_[i] < b.words_[i];
    }
    return false;
  }

  /// Enough for the attributes and five operands of rank 4, or three of rank 8.
  static constexpr int kMostWords = 128;

 private:
  [[nodiscard]] int Count() const { return count_ < kMostWords ? count_ : kMostWords; }

  int32_t words_[kMostWords] = {};
  int count_ = 0;
};

}  // namespace tenon
