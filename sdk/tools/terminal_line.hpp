// The line of a terminal on which a long step says where it is.
#pragma once

#include <chrono>
#include <string>

namespace tenon::tool {

/// Standard error, if that is a terminal; else nothing is ever written.
class TerminalLine {
 public:
  /// Nothing is shown before `silence` has passed.
  explicit TerminalLine(std::chrono::milliseconds silence = std::chrono::milliseconds(0));
  TerminalLine(const TerminalLine&) = delete;
  TerminalLine& operator=(const TerminalLine&) = delete;
  ~TerminalLine() { Clear(); }

  /// Replaces what the line shows.
  void Show(const std::string& text);
  void Clear();

 private:
  std::chrono::steady_clock::time_point begin_;
  bool is_terminal_;
  bool shown_ = false;
};

}  // namespace tenon::tool
