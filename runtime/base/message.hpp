// The constant text of an error, or its number in a build without message texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "runtime/base/config.hpp"

namespace tenon {

#ifndef TENON_WITHOUT_WORDS

/// A string constant; false where there is none.
class Message {
 public:
  constexpr Message() = default;
  constexpr Message(const char* text) : text_(text) {}  // NOLINT: implicit on purpose

  [[nodiscard]] constexpr const char* text() const { return text_; }
  explicit constexpr operator bool() const { return text_ != nullptr; }

 private:
  const char* text_ = nullptr;
};

/// Says why something is not supported, as kernels' predicates return it; null if it is supported.
using Reason = const char*;

#else

/// The number of a string constant: its FNV-1a hash (Fowler, Noll, Vo; 32 bits, halves folded).
/// Computed by the compiler, so that no text is left in the program: each character is an operand
/// of its own, which needs no loop to be unrolled and so works with any optimisation.
/// `scripts/explain.py` finds the text again, and a test that no two have the same number.
class Message {
 public:
  constexpr Message() = default;
  constexpr Message(std::nullptr_t /*none*/) {}  // NOLINT: implicit on purpose
  template <size_t N>
  [[gnu::always_inline]] constexpr Message(const char (&text)[N])  // NOLINT: implicit on purpose
      : number_(Hash(text, std::make_index_sequence<N - 1>())) {}

  /// 0 where there is no message.
  [[nodiscard]] constexpr uint16_t number() const { return number_; }
  explicit constexpr operator bool() const { return number_ != 0; }

 private:
  template <size_t N, size_t... kIndices>
  [[gnu::always_inline]] static constexpr uint16_t Hash(
      const char (&text)[N], std::index_sequence<kIndices...> /*characters*/) {
    uint32_t hash = 2166136261U;
    ((hash = (hash ^ static_cast<uint8_t>(text[kIndices])) * 16777619U), ...);
    const auto folded = static_cast<uint16_t>(hash ^ (hash >> 16));
    return folded != 0 ? folded : 1;
  }

  uint16_t number_ = 0;
};

using Reason = Message;

#endif

}  // namespace tenon
