// Reads words, numbers and punctuation from one line of text form.
#pragma once

#include <charconv>
#include <string>
#include <string_view>

#include "converter/ir/text_format.hpp"
#include "converter/status.hpp"

namespace tenon::converter {

class LineScanner {
 public:
  explicit LineScanner(std::string_view line) : rest_(line) { SkipSpace(); }

  /// Returns true at the end of the line or at a comment.
  [[nodiscard]] bool AtEnd() const { return rest_.empty() || rest_.front() == '#'; }
  [[nodiscard]] bool SeesQuote() const { return !rest_.empty() && rest_.front() == '"'; }

  /// Takes `token` if it comes next.
  bool Accept(char token) {
    if (rest_.empty() || rest_.front() != token) return false;
    rest_.remove_prefix(1);
    SkipSpace();
    return true;
  }
  /// Takes `word` if it comes next and ends there.
  bool AcceptWord(std::string_view word) {
    if (rest_.substr(0, word.size()) != word) return false;
    if (rest_.size() > word.size() && IsNameCharacter(rest_[word.size()])) return false;
    rest_.remove_prefix(word.size());
    SkipSpace();
    return true;
  }
  Status Expect(char token) {
    if (Accept(token)) return Status();
    return InputError("'{}' expected {}", token, Here());
  }

  /// Reads a bare or quoted name.
  Result<std::string> Word() {
    if (SeesQuote()) return QuotedString();
    size_t size = 0;
    while (size < rest_.size() && IsNameCharacter(rest_[size])) ++size;
    if (size == 0) return InputError("a name expected {}", Here());
    std::string word(rest_.substr(0, size));
    rest_.remove_prefix(size);
    SkipSpace();
    return word;
  }

  Result<std::string> QuotedString() {
    TENON_RETURN_IF_ERROR(ExpectQuote());
    std::string text;
    while (!rest_.empty() && rest_.front() != '"') {
      char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '\\') {
        TENON_ASSIGN_OR_RETURN(c, Escaped());
      }
      text += c;
    }
    if (rest_.empty()) return InputError("a string without its closing quote");
    rest_.remove_prefix(1);
    SkipSpace();
    return text;
  }

  /// Reads a number; for floating-point types also inf and nan. Errors: no number, or out of range.
  template <typename T>
  Result<T> Number() {
    T value{};
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error == std::errc::result_out_of_range) {
      return InputError("a number out of range {}", Here());
    }
    if (error != std::errc()) return InputError("a number expected {}", Here());
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    SkipSpace();
    return value;
  }

  /// Returns "before 'rest of the line'", for messages.
  [[nodiscard]] std::string Here() const {
    return AtEnd() ? std::string("at the end") : fmt::format("before '{}'", rest_.substr(0, 20));
  }

 private:
  void SkipSpace() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t')) {
      rest_.remove_prefix(1);
    }
  }
  Status ExpectQuote() {
    if (!SeesQuote()) return InputError("a quoted string expected {}", Here());
    rest_.remove_prefix(1);  // spaces inside the quotes count
    return Status();
  }
  /// Reads what follows a backslash: `"`, `\`, or `x` and two hexadecimal digits.
  Result<char> Escaped() {
    if (rest_.size() >= 3 && rest_.front() == 'x') {
      unsigned value = 0;
      const char* digits = rest_.data() + 1;
      const auto [end, error] = std::from_chars(digits, digits + 2, value, 16);
      if (error != std::errc() || end != digits + 2) return InputError("a bad escape in a string");
      rest_.remove_prefix(3);
      return static_cast<char>(value);
    }
    if (rest_.empty() || (rest_.front() != '"' && rest_.front() != '\\')) {
      return InputError("a bad escape in a string");
    }
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  std::string_view rest_;
};

}  // namespace tenon::converter
