#include "sdk/tools/terminal_line.hpp"

#include <unistd.h>

#include <iostream>

namespace tenon::tool {

TerminalLine::TerminalLine(std::chrono::milliseconds silence)
    : begin_(std::chrono::steady_clock::now() + silence),
      is_terminal_(isatty(STDERR_FILENO) != 0) {}

void TerminalLine::Show(const std::string& text) {
  if (!is_terminal_ || std::chrono::steady_clock::now() < begin_) return;
  std::cerr << "\r\033[K" << text << std::flush;
  shown_ = true;
}

void TerminalLine::Clear() {
  if (shown_) std::cerr << "\r\033[K" << std::flush;
  shown_ = false;
}

}  // namespace tenon::tool
