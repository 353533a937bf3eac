#include "runtime/base/status.hpp"

namespace tenon {

namespace {

/// By number, one behind the other: pointers to them would take as much flash again.
constexpr char kCodeTexts[] =
    "ok\0"
    "invalid argument\0"
    "failed precondition\0"
    "corrupt plan\0"
    "unsupported version\0"
    "unsupported\0"
    "out of memory\0"
    "backend failure\0"
    "deadline exceeded\0"
    "input/output error\0"
    "unknown status";
constexpr int kCodes = 10;

}  // namespace

const char* StatusCodeText(StatusCode code) {
  const char* text = kCodeTexts;
  const int number = static_cast<int>(code) < kCodes ? static_cast<int>(code) : kCodes;
  for (int i = 0; i < number; ++i) {
    while (*text++ != '\0') {
    }
  }
  return text;
}

#ifndef TENON_WITHOUT_WORDS

namespace {

/// Appends to a fixed buffer and keeps one byte for the final NUL.
class Writer {
 public:
  explicit Writer(Span<char> buffer) : buffer_(buffer) {}

  void Put(char c) {
    if (used_ + 1 < buffer_.size()) buffer_[used_++] = c;
  }
  void Put(const char* text) {
    for (; *text != '\0'; ++text) Put(*text);
  }
  void Put(int64_t value) {
    char digits[20];
    size_t count = 0;
    // Negate as unsigned: -INT64_MIN does not exist.
    uint64_t rest = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    do {
      digits[count++] = static_cast<char>('0' + rest % 10);
      rest /= 10;
    } while (rest != 0);
    if (value < 0) Put('-');
    while (count > 0) Put(digits[--count]);
  }
  size_t Finish() {
    buffer_[used_] = '\0';
    return used_;
  }

 private:
  Span<char> buffer_;
  size_t used_ = 0;
};

bool HasSubjectPlaceholder(const char* message) {
  for (; *message != '\0'; ++message) {
    if (message[0] == '{' && message[1] == 's' && message[2] == '}') return true;
  }
  return false;
}

}  // namespace

Status MakeError(StatusCode code, Message message, int64_t a, int64_t b, int64_t c) {
  return Status(code, message, a, b, c);
}

Status Status::As(StatusCode code) const {
  Status copy = *this;
  copy.code_ = code;
  return copy;
}

Status Status::About(const char* subject) const {
  Status copy = *this;
  copy.subject_ = subject;
  return copy;
}

Status Status::In(const char* place) const {
  Status copy = *this;
  copy.places_[1] = places_[0];
  copy.places_[0] = place;
  return copy;
}

size_t Status::Format(Span<char> buffer) const {
  if (buffer.empty()) return 0;
  Writer writer(buffer);
  for (const char* place : places_) {
    if (place == nullptr || place[0] == '\0') continue;
    writer.Put(place);
    writer.Put(": ");
  }
  const char* subject = subject_ != nullptr ? subject_ : "";
  if (subject[0] != '\0' && !HasSubjectPlaceholder(message_)) {
    writer.Put(subject);
    writer.Put(": ");
  }
  for (const char* at = message_; *at != '\0'; ++at) {
    const bool placeholder = at[0] == '{' && at[1] != '\0' && at[2] == '}';
    if (placeholder && at[1] >= '0' && at[1] <= '2') {
      writer.Put(arguments_[at[1] - '0']);
      at += 2;
    } else if (placeholder && at[1] == 's') {
      writer.Put(subject);
      at += 2;
    } else {
      writer.Put(*at);
    }
  }
  return writer.Finish();
}

#else

Status Status::WithArgument(uint32_t bits, uint32_t argument) {
  Status status;
  status.bits_ = bits | (argument < kMostArgument ? argument : kMostArgument) << 5;
  return status;
}

Status Status::AtOp(size_t op) const {
  if (ok()) return *this;
  return WithArgument((bits_ & ~(kMostArgument << 5)) | kAtOp, static_cast<uint32_t>(op));
}

Status Status::As(StatusCode code) const {
  Status copy = *this;
  copy.bits_ = (bits_ & ~uint32_t{15}) | static_cast<uint32_t>(code);
  return copy;
}

size_t Status::Format(Span<char> buffer) const {
  if (buffer.empty()) return 0;
  // '#' stands for a digit of the number, '@' for the argument.
  const char* form = is_at_op() ? "error #### at @" : "error #### (@)";
  if (ok()) form = "";
  size_t used = 0;
  uint32_t digits = bits_;
  uint32_t divisor = 1000;
  while (*form != '\0' && used + 1 < buffer.size()) {
    auto c = static_cast<uint32_t>(*form);
    if (c == '@') {
      c = '0' + argument() / divisor % 10;
      const bool leads = argument() < divisor && divisor != 1;
      divisor /= 10;
      if (divisor == 0) ++form;
      if (leads) continue;
    } else {
      if (c == '#') {
        c = digits >> 28;
        c += c < 10 ? '0' : 'a' - 10;
        digits <<= 4;
      }
      ++form;
    }
    buffer[used++] = static_cast<char>(c);
  }
  buffer[used] = '\0';
  return used;
}

#endif

}  // namespace tenon
